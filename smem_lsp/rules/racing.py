"""Findings about races, shared by SMEM201 and SMEM202: one for each barrier that is missing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from smem_lsp.analysis.races import Race
from smem_lsp.ir.model import Access, Buffer, Kind, Space, walk
from smem_lsp.rules.model import Finding, Note, Severity
from smem_lsp.rules.subject import KernelFacts

_PLACE = re.compile(r"[\w.:>-]+")
_DOES = {Kind.READ: "reads", Kind.WRITE: "writes", Kind.UPDATE: "updates"}


def findings(facts: KernelFacts, code: str, severity: Severity) -> Iterator[Finding]:
    """Those races of a kernel that the rule ``code`` tells, one for each gap where a barrier is missing."""
    kernel = facts.kernel
    if not kernel.complete or facts.withheld or kernel.hidden or kernel.unknown_barriers:
        return
    nodes = {node.point: node for node in walk(kernel.body) if isinstance(node, Access)}
    here = [replace(r, first=nodes[r.first.point], second=nodes[r.second.point]) for r in facts.races]
    races = [race for race in here if _code(facts, race) == code and race.second.span is not None]
    for gap in _gaps(races):
        yield _finding(facts, gap, code, severity)


def _gaps(races: Sequence[Race]) -> list[list[Race]]:
    """Races that one barrier would end, those over a back edge apart."""
    forward = sorted(
        (race for race in races if race.first.point < race.second.point), key=lambda race: race.second.point
    )
    gaps: list[list[Race]] = []
    slot = -1
    for race in forward:
        if gaps and race.first.point < slot <= race.second.point:
            gaps[-1].append(race)
        else:
            gaps.append([race])
            slot = race.second.point
    back = [race for race in races if race.first.point >= race.second.point]
    return gaps + ([back] if back else [])


def _finding(facts: KernelFacts, gap: Sequence[Race], code: str, severity: Severity) -> Finding:
    race = gap[0]
    buffer = facts.kernel.buffers[race.first.buffer]
    place = _element(buffer, race.byte)
    back = race.first.point >= race.second.point
    again = " in the next iteration" if back else ""
    message = (
        f"thread {race.threads[0]} {_DOES[race.first.kind]} {place} (line {race.first.line}), "
        f"thread {race.threads[1]} {_DOES[race.second.kind]} it{again} (line {race.second.line}), with no barrier "
        f"between them; put one {'at the end of the loop' if back else f'before line {race.second.line}'}"
    )
    shape = facts.shape
    if not race.proved:
        block = " x ".join(str(n) for n in race.dims if n > 1)
        message += ", when blockDim.x > 32" if race.several else f", when the block is {block}"
    elif shape is not None and not shape.fact:
        message += f" ({shape.threads} threads, {facts.shape_source})"
    assert race.second.span is not None
    notes = [_note(race.first, buffer)]
    for other in gap[1:]:
        notes += [_note(each, facts.kernel.buffers[each.buffer]) for each in (other.first, other.second)]
    return Finding(
        code,
        message,
        race.second.span,
        severity if race.proved else max(severity, Severity.WARNING),
        kernel=facts.kernel.name,
        buffers=tuple(dict.fromkeys(facts.kernel.buffers[each.first.buffer].name for each in gap)),
        verdict="proved" if race.proved else "likely",
        related=tuple(dict.fromkeys(note for note in notes if note is not None)),
        data={
            "threads": " x ".join(map(str, race.dims)),
            "thread_first": race.threads[0],
            "thread_second": race.threads[1],
            "byte": race.byte,
        },
    )


def _note(access: Access, buffer: Buffer) -> Note | None:
    if access.span is None:
        return None
    verb = {Kind.READ: "read", Kind.WRITE: "written", Kind.UPDATE: "updated"}[access.kind]
    return Note(access.span, f"`{buffer.name}` is {verb} here")


def _element(buffer: Buffer, byte: int) -> str:
    """``tile[3][5]``, or the byte where the buffer is no array of numbers."""
    size = buffer.element_bytes
    if buffer.record or buffer.space is Space.DYNAMIC or not size or None in buffer.dims[1:]:
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
    if race.first.buffer != race.second.buffer:
        return "SMEM202"
    names = [_name(facts, access) for access in (race.first, race.second)]
    several = buffer.record or buffer.space is Space.DYNAMIC
    return "SMEM202" if several and None not in names and names[0] != names[1] else "SMEM201"


def _name(facts: KernelFacts, access: Access) -> str | None:
    if access.span is None:
        return None
    found = _PLACE.match(facts.source.slice(access.span))
    return found[0] if found else None
