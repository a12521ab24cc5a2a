"""Members of a class in static shared memory as buffers of their own.

An access belongs to the member that it names, whatever its index, as for arrays. One that names none, or that visibly
leaves the member, belongs to all members that it may touch; these are merged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from smem_lsp.analysis.storage.dynamic_ranges import Partition, Range
from smem_lsp.analysis.storage.member_ranges import Reach
from smem_lsp.analysis.values.block_shape import BlockShape
from smem_lsp.analysis.values.extents import Extent, extent_of
from smem_lsp.analysis.values.ranges import Bounds
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import Access, AddressSpace, Buffer, Kernel, StorageMember, walk
from smem_lsp.source import checkpoint

_WIDEST = 16  # bytes of an access


def storages(kernel: Kernel) -> tuple[Buffer, ...]:
    """The buffers whose members are known."""
    return tuple(b for b in kernel.buffers if b.space is AddressSpace.STATIC and len(b.members) > 1)


def split(kernel: Kernel, values: ValueFacts, shape: BlockShape | None, buffer: Buffer) -> Partition | None:
    """The members of one buffer; None unless its accesses split them into at least two groups."""
    if kernel.irregular is not None or any(kept.within is None for kept in buffer.kept):
        return None
    reached = _reached(kernel, values, shape, buffer)
    if reached is None:
        return None
    groups = _groups(buffer.members, reached.values())
    if len(groups) < 2:
        return None
    accesses = [node for node in walk(kernel.body) if isinstance(node, Access) and node.point in reached]
    ranges: list[Range] = []
    of: dict[int, int] = {}
    for number, group in enumerate(groups):
        checkpoint()
        low, high = group[0].offset, max(member.offset + member.size for member in group)
        inside = [access for access in accesses if low <= reached[access.point][0] < high]
        index = len(kernel.buffers) + number
        of.update(dict.fromkeys((access.point for access in inside), index))
        widths = [access.width or 1 for access in inside]
        align = max(*(member.align for member in group), *(min(w & -w, _WIDEST) for w in widths), 1)
        ranges.append(
            Range(
                index,
                "+".join(member.path for member in group),
                low,
                high - low,
                align,
                element=_element(low, high - low, widths),
                stays=_stays(buffer, group, inside),
                members=tuple(group),
            )
        )
    return Partition(buffer.index, tuple(ranges), of)


def _reached(
    kernel: Kernel, values: ValueFacts, shape: BlockShape | None, buffer: Buffer
) -> Mapping[int, Extent] | None:
    """Access -> the bytes that it may touch; None if one may touch any byte."""
    assert buffer.bytes is not None
    fact = shape if shape is not None and shape.fact else None
    known = Bounds(values.loops, fact.dims, exact=True) if fact is not None else None
    named = Reach(kernel, values, shape)
    kept = [each.within for each in buffer.kept if each.within is not None]
    found: dict[int, Extent] = {}
    for node in walk(kernel.body):
        if not isinstance(node, Access) or node.buffer != buffer.index:
            continue
        extent = kept[0] if node.strayed and kept else named.of(node)
        if extent is None and known is not None:
            extent = extent_of(kernel, values, known, node)
        if extent is None or extent[0] < 0 or extent[1] > buffer.bytes:
            return None
        found[node.point] = extent
    return found


def _groups(members: Iterable[StorageMember], reached: Iterable[Extent]) -> list[list[StorageMember]]:
    """The members, grouped where one access may touch several."""
    groups = [[member] for member in members]
    for low, high in reached:
        checkpoint()
        touched = [g for g in groups if g[0].offset < high and low < max(m.offset + m.size for m in g)]
        if len(touched) > 1:
            first, last = groups.index(touched[0]), groups.index(touched[-1])
            groups[first : last + 1] = [[member for group in groups[first : last + 1] for member in group]]
    return groups


def _element(low: int, size: int, widths: list[int]) -> int | None:
    """Bytes of an element, if all accesses have this width, a power of two."""
    width = widths[0] if widths and len(set(widths)) == 1 else 0
    fits = width > 0 and width & (width - 1) == 0 and low % width == 0 and size % width == 0
    return width if fits else None


def _stays(buffer: Buffer, group: list[StorageMember], inside: list[Access]) -> bool:
    """May the bytes of these members not be shared?"""
    low, high = group[0].offset, max(member.offset + member.size for member in group)
    kept = [each.within for each in buffer.kept if each.within is not None]
    known = bool(inside) and all(member.plain for member in group)
    return not known or any(first < high and low < end for first, end in kept)
