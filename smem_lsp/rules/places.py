"""Where the accesses of a finding stand: their statements, in functions that the kernel calls and in headers too, and
the calls that lead there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from smem_lsp.ir.nodes import Access, AccessKind, Elsewhere, FollowedCall
from smem_lsp.ir.places import At, Row
from smem_lsp.rules.elements import name_of
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.model import Note, Stand
from smem_lsp.rules.words import Words, said
from smem_lsp.source import Span

DOES = {AccessKind.READ: "reads", AccessKind.WRITE: "writes", AccessKind.UPDATE: "updates"}
_DONE = {AccessKind.READ: "read", AccessKind.WRITE: "written", AccessKind.UPDATE: "updated"}


def where(facts: KernelFacts, access: Access) -> At | Row:
    """Its text in the checked file; of one in a header the call that leads there; the line, where a part of that comes
    out of a macro."""
    if access.span is not None:
        return access.span
    if access.elsewhere is not None:
        call = next((each for each in reversed(calls_to(facts, access)) if each.span is not None), None)
        if call is not None and call.span is not None:
            return call.span
    return access.line


def line_of(access: Access) -> Words:
    """``line 12``, ``reduce.cuh:5``."""
    place = access.elsewhere
    if place is None:
        return said("line ", access.line)
    return said(f"{_file(place)}:{place.line}")


def calls_to(facts: KernelFacts, access: Access) -> list[FollowedCall]:
    """The calls that lead from the kernel to an access, the first one first."""
    around = [each for each in facts.kernel.calls if each.first < access.point <= each.last]
    return sorted(around, key=lambda each: (each.first, -each.last))


def notes_on(facts: KernelFacts, access: Access) -> Iterator[Note[Stand]]:
    """Its statement, then the calls that lead to it, from the inside out."""
    words = f"`{name_of(facts, access)}` is {_DONE[access.kind]} here"
    if access.elsewhere is not None:
        yield Note(access.elsewhere.span, words, access.elsewhere.source)
    else:
        yield Note(where(facts, access), words)
    for call in reversed(calls_to(facts, access)):
        words = f"`{call.name}` is called here" if call.name else "the lambda is called here"
        if call.elsewhere is not None:
            yield Note(call.elsewhere.span, words, call.elsewhere.source)
        elif call.span is not None:
            yield Note(call.span, words)


def related(facts: KernelFacts, stands: Stand, accesses: Iterable[Access]) -> tuple[Note[Stand], ...]:
    """The places of accesses, each once, but the one that the finding stands at."""
    found: dict[tuple[Stand | Span, str | None], Note[Stand]] = {}
    for note in (note for access in accesses for note in notes_on(facts, access)):
        file = None if note.source is None else note.source.path
        if file is not None or note.span != stands:
            found.setdefault((note.span, file), note)
    return tuple(found.values())


def _file(place: Elsewhere) -> str:
    return place.source.path.replace("\\", "/").rpartition("/")[2]
