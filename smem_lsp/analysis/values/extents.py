"""How far into each buffer a kernel reaches, for every block that can be launched."""

from __future__ import annotations

from collections.abc import Mapping

from smem_lsp.analysis.values.block_shape import BlockShape, most_threads
from smem_lsp.analysis.values.ranges import Bounds
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import Access, AddressSpace, Buffer, Kernel, walk
from smem_lsp.terms.intervals import INFINITE

Extent = tuple[int, int]


def extents(kernel: Kernel, values: ValueFacts, fact: BlockShape | None) -> Mapping[int, Extent]:
    """Buffer -> (first byte, end byte) that its accesses may touch. Buffers with an unbounded or an unknown access are
    left out. ``fact``: the shape of every block."""
    bounds = (
        Bounds(values.loops, most_threads(kernel))
        if fact is None
        else Bounds(values.loops, fact.dims, exact=True)
    )
    found: dict[int, Extent] = {}
    unknown: set[int] = set()
    for node in walk(kernel.body):
        if not isinstance(node, Access) or node.buffer in unknown:
            continue
        extent = extent_of(kernel, values, bounds, node)
        if extent is None:
            unknown.add(node.buffer)
            continue
        known = found.get(node.buffer, extent)
        found[node.buffer] = min(known[0], extent[0]), max(known[1], extent[1])
    closed = {buffer.index for buffer in kernel.buffers if buffer.seen and buffer.fixed is None}
    return {index: extent for index, extent in found.items() if index in closed - unknown}


def in_bounds(kernel: Kernel, values: ValueFacts, fact: BlockShape | None) -> bool:
    """Is it proved of every access that it stays inside its buffer? ``fact``: as in ``extents``."""
    known = extents(kernel, values, fact)
    used = {node.buffer for node in walk(kernel.body) if isinstance(node, Access)}
    return all(_inside(kernel.buffers[index], known.get(index)) for index in used)


def _inside(buffer: Buffer, extent: Extent | None) -> bool:
    if buffer.space is not AddressSpace.STATIC or buffer.bytes is None or extent is None:
        return False
    return extent[0] >= 0 and extent[1] <= buffer.bytes


def extent_of(kernel: Kernel, values: ValueFacts, bounds: Bounds, access: Access) -> Extent | None:
    """(first byte, end byte) that one access may touch, from the start of its buffer; None: unknown."""
    if access.length is not None:
        return _moved(values, bounds, access)
    buffer = kernel.buffers[access.buffer]
    width = access.width if access.width is not None else buffer.element_bytes
    offset = values.offset(access, buffer)
    if access.together:
        width, offset = access.size, values.copied.get(access.point)
    if access.guess or access.part is not None or width is None or offset is None or not offset.known:
        return None
    low, high = bounds.interval(offset)
    if low <= -INFINITE or high >= INFINITE:
        return None
    return low, high + width


def _moved(values: ValueFacts, bounds: Bounds, access: Access) -> Extent | None:
    """What the asynchronous proxy moves."""
    if access.guess or access.part is not None or access.point not in values.moved:
        return None
    offset, length = values.moved[access.point]
    if not (offset.known and length.known):
        return None
    (low, high), (_, most) = bounds.interval(offset), bounds.interval(length)
    return None if low <= -INFINITE or high + most >= INFINITE else (low, high + max(most, 1))
