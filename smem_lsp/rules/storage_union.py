"""How an author would let members of a class in shared memory share bytes: a union of phases.

Members that may not share bytes stand in one struct, the structs share theirs. The bytes are those of the text that is
shown, by the rules of C++, not those of the layout that it came from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

from smem_lsp.allocation.declared import declared
from smem_lsp.allocation.plan import Item, align_up
from smem_lsp.analysis.storage.dynamic_ranges import Range
from smem_lsp.facts.layouts import LayoutCandidate
from smem_lsp.facts.partition import PartitionLayouts
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass


@dataclass(frozen=True, slots=True)
class Union:
    """``text``: the members of the class, written anew; ``before``, ``after``: its bytes; ``total``: static bytes of
    the kernel after it; ``sharing``: the ranges in the union."""

    text: str
    before: int
    after: int
    total: int
    sharing: tuple[int, ...]


def as_union(facts: KernelFacts, divided: PartitionLayouts, candidate: LayoutCandidate) -> Union | None:
    """The class with a union for each group of ranges that share bytes in the plan; None where none of the groups falls
    into phases."""
    base = facts.kernel.buffers[divided.partition.base]
    ranges = divided.partition.ranges
    names = [member.path.rpartition(".")[2] for each in ranges for member in each.members]
    if len(set(names)) < len(names) or not all(each.members for each in ranges):
        return None
    groups = [phases for group in _groups(ranges, candidate) if len(phases := _phases(group, candidate)) > 1]
    if not groups:
        return None
    grouped = {each.index for phases in groups for phase in phases for each in phase}
    text, after, align = _class_of(ranges, groups, grouped)
    items = [
        Item(item.index, item.name, after, item.align) if item.index == base.index else item
        for item in facts.items
    ]
    return Union(
        text=text,
        before=align_up(divided.declared.bytes, align) if base.bytes is None else base.bytes,
        after=after,
        total=facts.total(declared(items).bytes),
        sharing=tuple(each.index for each in ranges if each.index in grouped),
    )


def _class_of(
    ranges: Sequence[Range], groups: Sequence[list[list[Range]]], grouped: AbstractSet[int]
) -> tuple[str, int, int]:
    """The members of the class, its bytes and its alignment, with a union for each of ``groups`` where its first range
    was. ``grouped``: the indices of the ranges in them."""
    first = {min(r.offset for phase in phases for r in phase): phases for phases in groups}
    parts: list[str] = []
    pieces: list[tuple[int, int]] = []  # bytes and alignment
    for each in ranges:
        checkpoint()
        if each.offset in first:
            parts.append(_spelled(first[each.offset]))
            pieces.append(_union(first[each.offset]))
        elif each.index not in grouped:
            parts += [f"{member.text};" for member in each.members]
            pieces += [(member.size, member.align) for member in each.members]
    end, align = _one_after_the_other(pieces)
    return " ".join(parts), align_up(end, align), align


def _groups(ranges: tuple[Range, ...], candidate: LayoutCandidate) -> list[list[Range]]:
    """Ranges that overlap in the plan, directly or through others."""
    offsets = candidate.plan.offsets
    groups: list[list[Range]] = []
    end = 0
    for each in sorted(ranges, key=lambda each: (offsets[each.index], each.index)):
        if each.stays:
            continue
        if groups and offsets[each.index] < end:
            groups[-1].append(each)
        else:
            groups.append([each])
        end = max(end, offsets[each.index] + each.size)
    return groups


def _phases(group: list[Range], candidate: LayoutCandidate) -> list[list[Range]]:
    """The phases of a group, in declared order: ranges that may not share bytes are in one phase."""
    phases: list[list[Range]] = []
    for each in sorted(group, key=lambda each: each.offset):
        checkpoint()
        met = [phase for phase in phases if any(_apart(candidate, each, other) for other in phase)]
        phases = [phase for phase in phases if phase not in met]
        phases.append(sorted([*(r for phase in met for r in phase), each], key=lambda each: each.offset))
    return sorted(phases, key=lambda phase: phase[0].offset)


def _apart(candidate: LayoutCandidate, a: Range, b: Range) -> bool:
    conflicts = candidate.conflicts
    return conflicts.apart(a.index, b.index) or frozenset((a.index, b.index)) in conflicts.equal


def _struct(members: list[Range]) -> tuple[int, int]:
    """Bytes without the padding at the end, and alignment, of ranges one after the other."""
    return _one_after_the_other((member.size, member.align) for each in members for member in each.members)


def _one_after_the_other(pieces: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """Bytes without the padding at the end, and alignment, of pieces given by theirs."""
    end, align = 0, 1
    for size, asked in pieces:
        end = align_up(end, asked) + size
        align = max(align, asked)
    return end, align


def _union(phases: list[list[Range]]) -> tuple[int, int]:
    sizes = [_struct(phase) for phase in phases]
    align = max(each for _, each in sizes)
    return max(align_up(size, align) for size, align in sizes), align


def _spelled(phases: list[list[Range]]) -> str:
    """``union { struct { float A[1024]; float B[1024]; }; float C[2048]; };``"""
    parts: list[str] = []
    for phase in phases:
        checkpoint()
        members = [f"{member.text};" for each in phase for member in each.members]
        parts.append(members[0] if len(members) == 1 else f"struct {{ {' '.join(members)} }};")
    return f"union {{ {' '.join(parts)} }};"
