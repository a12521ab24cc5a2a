"""What a thread reads after it has written it itself.

Where all threads store one value into one place (``width = n - m;`` in a ``__shared__ int width``), each of them reads
that value behind its own write, whichever thread wrote last.
"""

from __future__ import annotations

from smem_lsp.analysis.decision.conditions import Position
from smem_lsp.analysis.decision.kernel_model import KernelModel
from smem_lsp.ir.nodes import Access, AccessKind, storages_of


def own_writes(of: KernelModel) -> dict[int, Access]:
    """For each read (point) of a buffer of which the kernel writes the storage in one place: that write, where every
    thread that reads has run it in the same iteration of all loops around it, and it touches the very bytes that are
    read.
    """
    storages = storages_of(of.kernel.buffers)
    writes: dict[int, list[Access]] = {}
    for access in of.accesses:
        if access.kind.writes:
            writes.setdefault(storages[access.buffer], []).append(access)
    found: dict[int, Access] = {}
    for access in of.accesses:
        (write, *others) = writes.get(storages[access.buffer], [access])
        if access.kind is AccessKind.READ and write.kind is AccessKind.WRITE and not others:
            if of.kernel.buffers[access.buffer].seen and _is_behind(of, write, access):
                found[access.point] = write
    return found


def _is_behind(of: KernelModel, write: Access, read: Access) -> bool:
    if write.point > read.point or write.asynchronous or write.guess:
        return False
    before, behind = of.positions[write.point], of.positions[read.point]
    return _holds_around(before, behind) and _bytes(of, write) == _bytes(of, read) is not None


def _holds_around(outer: Position, inner: Position) -> bool:
    """Does a thread that comes to ``inner`` come to ``outer`` first, in the same iteration?"""
    return (
        inner.loops[: len(outer.loops)] == outer.loops
        and inner.conditions[: len(outer.conditions)] == outer.conditions
    )


def _bytes(of: KernelModel, access: Access) -> object:
    """Which bytes it touches; None: not known."""
    buffer = of.kernel.buffers[access.buffer]
    offset = of.values.offset(access, buffer)
    width = access.width if access.width is not None else buffer.element_bytes
    if offset is None or width is None or access.is_unplaced or access.start is not None:
        return None
    return offset, width
