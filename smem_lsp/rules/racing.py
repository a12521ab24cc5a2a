"""Findings about races, shared by SMEM201 and SMEM202: one for each barrier that is missing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from smem_lsp.analysis.hazards.model import Race
from smem_lsp.analysis.repairs.missing_barriers import MissingBarrier
from smem_lsp.ir.nodes import Access, AccessKind, AddressSpace, Buffer, Place, walk
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.model import Finding, InsertBarrier, Note, Severity
from smem_lsp.rules.words import Line, Words, said
from smem_lsp.source import Span, checkpoint

_PLACE = re.compile(r"[\w.:>-]+")
DOES = {AccessKind.READ: "reads", AccessKind.WRITE: "writes", AccessKind.UPDATE: "updates"}


def findings(facts: KernelFacts, code: str, severity: Severity) -> Iterator[Finding]:
    """The races of a kernel that the rule ``code`` reports, one for each gap where a barrier is missing."""
    if not followed(facts):
        return
    for gap in facts.missing_barriers.across:
        checkpoint()
        races = [race for race in present(facts, gap.races) if _code(facts, race) == code]
        if races:
            yield _finding(facts, gap, races, code, severity)


def followed(facts: KernelFacts) -> bool:
    """Is enough of the kernel understood to see every order between its threads?"""
    kernel = facts.kernel
    return kernel.complete and not (facts.withheld or kernel.hidden or kernel.unknown_barriers)


def present(facts: KernelFacts, races: Sequence[Race]) -> list[Race]:
    """``races`` where their kernel stands now."""
    nodes = {node.point: node for node in walk(facts.kernel.body) if isinstance(node, Access)}
    return [replace(r, first=nodes[r.first.point], second=nodes[r.second.point]) for r in races]


def where(facts: KernelFacts, access: Access) -> Span:
    """Its text; the line, where a part of that comes out of a macro."""
    if access.span is not None:
        return access.span
    start = facts.source.lines.starts[access.line - 1]
    text = facts.source.text[start : facts.source.line_end(start)]
    return Span(start + len(text) - len(text.lstrip()), start + len(text.rstrip()))


def _finding(
    facts: KernelFacts, gap: MissingBarrier, races: Sequence[Race], code: str, severity: Severity
) -> Finding:
    race = races[0]
    buffer = facts.kernel.buffers[race.first.buffer]
    message = sentence(facts, race, back=gap.back)
    if race.named:
        message += ", and no barrier that both come to orders them"
    elif not alone(gap, race):
        message += said(", with no barrier between them; ", _advice(facts, gap, race))
    grade = facts.graded(race, severity)
    return Finding(
        code,
        message + grade.words,
        where(facts, race.second),
        grade.severity,
        kernel=facts.kernel.name,
        buffers=tuple(dict.fromkeys(facts.kernel.buffers[each.first.buffer].name for each in races)),
        verdict=grade.verdict,
        related=notes(facts, races),
        data=numbers(race),
        remedy=_remedy(facts, gap, race, buffer),
    )


def sentence(facts: KernelFacts, race: Race, *, back: bool) -> Words:
    """Who does what: ``thread 0 writes `s[31]` (line 3), thread 32 reads it (line 4)``."""
    place = element(facts.kernel.buffers[race.first.buffer], race.byte)
    if race.first.serves:
        name, again = facts.kernel.buffers[race.first.buffer].name, " in the next iteration" if back else ""
        return said(
            *(f"`{name}` serves a collective of the block (line ", Line(race.first.line)),
            *(f") and another{again} (line ", Line(race.second.line), ")"),
        )
    if race.first.point == race.second.point and race.first.kind is AccessKind.WRITE:
        one, other = sorted(race.threads)
        both = f"threads {one} and {other} both write {place} (line "
        return said(both, Line(race.first.line), "), not the same value")
    if race.first.point == race.second.point:
        one, other = sorted(race.threads)
        both = f"threads {one} and {other} both update {place} (line "
        return said(both, Line(race.first.line), ") and no atomic is used")
    again = " in the next iteration" if back and race.first.point != race.second.point else ""
    first, second = DOES[race.first.kind], DOES[race.second.kind]
    if race.data:  # the data decide which bytes one of the two touches
        first, second = "may " + first.removesuffix("s"), "may " + second.removesuffix("s")
    return said(
        *(f"thread {race.threads[0]} {first} {place} (line ", Line(race.first.line)),
        *(f"), thread {race.threads[1]} {second} it{again} (line ", Line(race.second.line), ")"),
    )


def alone(gap: MissingBarrier, race: Race) -> bool:
    """Does one statement meet itself, so that no barrier helps?"""
    return gap.place is None and race.first.point == race.second.point


def numbers(race: Race) -> dict[str, int | str | bool | None]:
    """The witness, for tools."""
    return {
        "threads": " x ".join(map(str, race.dims)),
        "thread_first": race.threads[0],
        "thread_second": race.threads[1],
        "byte": race.byte,
    }


def notes(facts: KernelFacts, races: Sequence[Race]) -> tuple[Note, ...]:
    """The places of the accesses, but the one that the finding stands at."""
    accesses = [races[0].first, *(each for race in races[1:] for each in (race.first, race.second))]
    return tuple(dict.fromkeys(_note(facts, each) for each in accesses))


def _advice(facts: KernelFacts, gap: MissingBarrier, race: Race) -> Words:
    place = place_of(facts, gap.place)
    if gap.back and (place is None or place.at_end):
        return said("put one at the end of the loop")
    first, second = sorted((race.first.point, race.second.point))
    if place is None and not any(first < point < second for point in facts.control.places):
        return said("no place that all threads of the block come to lies between")
    return said("put one before line ", Line(race.second.line if place is None else place.line))


def place_of(facts: KernelFacts, point: int | None) -> Place | None:
    """The place with that point."""
    nodes = (node for node in walk(facts.kernel.body) if isinstance(node, Place) and node.point == point)
    return next(nodes, None)


def _remedy(facts: KernelFacts, gap: MissingBarrier, race: Race, buffer: Buffer) -> InsertBarrier | None:
    if gap.place is None:
        return None
    if race.first.serves:
        reason = f"every thread must be done with {buffer.name}"
    elif race.first.kind is AccessKind.READ:
        reason = f"every warp must be done reading {buffer.name}"
    elif race.second.kind is AccessKind.READ:
        reason = f"every warp must have written {buffer.name}"
    else:
        reason = f"every warp must be done writing {buffer.name}"
    return InsertBarrier(facts.index, gap.place, reason, race.proved)


def _note(facts: KernelFacts, access: Access) -> Note:
    verb = {AccessKind.READ: "read", AccessKind.WRITE: "written", AccessKind.UPDATE: "updated"}[access.kind]
    name = facts.kernel.buffers[access.buffer].name
    return Note(where(facts, access), f"`{name}` is {verb} here")


def element(buffer: Buffer, byte: int) -> str:
    """``tile[3][5]``, or the byte where the buffer is no array of numbers."""
    size = buffer.element_bytes or 1  # an element of unknown size counts as one byte
    record = buffer.record and buffer.element_bytes is not None
    if record or buffer.space is AddressSpace.DYNAMIC or None in buffer.dims[1:]:
        return f"byte {byte} of `{buffer.name}`"
    if not buffer.dims:
        return f"`{buffer.name}`"
    left = byte // size
    index: list[int] = []
    for dim in reversed(buffer.dims[1:]):
        left, inner = divmod(left, dim or 1)
        index.insert(0, inner)
    return f"`{buffer.name}{''.join(f'[{i}]' for i in (left, *index))}`"


def _code(facts: KernelFacts, race: Race) -> str:
    """SMEM202 when the same bytes have two names: members of a union, parts carved out of one block."""
    buffer = facts.kernel.buffers[race.first.buffer]
    if race.first.buffer != race.second.buffer or race.first.serves:
        return "SMEM202"
    names = [_name(facts, access) for access in (race.first, race.second)]
    several = buffer.record or buffer.space is AddressSpace.DYNAMIC
    return "SMEM202" if several and None not in names and names[0] != names[1] else "SMEM201"


def _name(facts: KernelFacts, access: Access) -> str | None:
    if access.span is None:
        return None
    found = _PLACE.match(facts.source.slice(access.span))
    return found[0] if found else None
