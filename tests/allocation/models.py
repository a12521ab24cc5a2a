"""What other systems' allocators do with buffers of known lives, written from their descriptions.

Positions are integers, lives half-open. nvFuser's stack and TVM's regions are in the package itself; these three are
here to be compared with only (reference: allocators, sections 3 to 5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from smem_lsp.allocation.plan import align_up


@dataclass(frozen=True, slots=True)
class Interval:
    """A buffer of ``size`` bytes that is live at the positions ``start <= p < end``."""

    name: str
    size: int
    start: int
    end: int
    align: int = 16

    def meets(self, other: Interval) -> bool:
        return self.start < other.end and other.start < self.end


def peak(buffers: Sequence[Interval], offsets: Sequence[int]) -> int:
    return max(offset + buffer.size for buffer, offset in zip(buffers, offsets, strict=True))


def triton(buffers: Sequence[Interval]) -> list[int]:
    """Offsets in bytes, explicit buffers before scratch in ``buffers``.

    First a guess: the lowest open slot (an offset and a time) goes to the first buffer, by falling size, that is live
    in it and in no other open slot. Then buffers that clash are coloured, and all but the first colour move above
    everything they clash with, until nothing clashes (lib/Analysis/Allocation.cpp).
    """
    order = sorted(range(len(buffers)), key=lambda index: -buffers[index].size)
    offsets = _triton_starts(buffers, order)
    clashes = _clashes(buffers, offsets)
    while True:
        _triton_move(buffers, order, offsets, clashes)
        clashes = _clashes(buffers, offsets)
        if not any(clashes):
            return offsets


def _triton_starts(buffers: Sequence[Interval], order: Sequence[int]) -> list[int]:
    offsets = [0] * len(buffers)
    slots = [(0, 0, 1 << 60)]  # offset, first and last position; of equal offsets the one opened first
    left = list(order)
    while left:
        offset, first, last = slots.pop(0)
        slot = Interval("", 0, first, last)
        others = [Interval("", 0, start, end) for _, start, end in slots]
        chosen = next(
            (
                index
                for index in left
                if buffers[index].meets(slot) and not any(buffers[index].meets(other) for other in others)
            ),
            None,
        )
        if chosen is None:
            continue
        left.remove(chosen)
        buffer = buffers[chosen]
        offsets[chosen] = align_up(offset, buffer.align)
        opened = [(offsets[chosen] + buffer.size, max(first, buffer.start), min(last, buffer.end))]
        if first < buffer.start:
            opened.append((offset, first, buffer.end))
        if buffer.end < last:
            opened.append((offset, buffer.start, last))
        for each in opened:
            slots.append(each)
            slots.sort(key=lambda slot: slot[0])
    return offsets


def _clashes(buffers: Sequence[Interval], offsets: Sequence[int]) -> list[list[int]]:
    def clash(a: int, b: int) -> bool:
        apart = offsets[a] + buffers[a].size <= offsets[b] or offsets[b] + buffers[b].size <= offsets[a]
        return a != b and not apart and buffers[a].meets(buffers[b])

    everyone = range(len(buffers))
    return [[b for b in everyone if clash(a, b)] for a in everyone]


def _triton_move(
    buffers: Sequence[Interval], order: Sequence[int], offsets: list[int], clashes: Sequence[Sequence[int]]
) -> None:
    colours: dict[int, int] = {}
    for index in order:
        taken = {colours[other] for other in clashes[index] if other in colours}
        colours[index] = next(colour for colour in range(len(order)) if colour not in taken)
    for index in order:
        above = max((offsets[other] + buffers[other].size for other in clashes[index]), default=0)
        if colours[index]:
            offsets[index] = align_up(above, buffers[index].align)


def tilelang(buffers: Sequence[Interval]) -> list[int]:
    """Offsets in bytes: a scan over the starts of the lives; a buffer takes the free block that wastes least, else the
    free block at the top of the arena and more, else new bytes at the top (merge_shared_memory_allocations.cc)."""
    offsets = [0] * len(buffers)
    live: list[int] = []
    free: list[tuple[int, int]] = []  # start, end
    top = 0
    for index in sorted(
        range(len(buffers)), key=lambda i: (buffers[i].start, -buffers[i].size, buffers[i].name)
    ):
        buffer = buffers[index]
        for done in [other for other in live if buffers[other].end <= buffer.start]:
            live.remove(done)
            free = _coalesced([*free, (offsets[done], offsets[done] + buffers[done].size)])
        fitting = [
            (end - align_up(start, buffer.align) - buffer.size, start, end)
            for start, end in free
            if align_up(start, buffer.align) + buffer.size <= end
        ]
        if fitting:
            _, start, end = min(fitting)
            free.remove((start, end))
        elif free and free[-1][1] == top:
            start, end = free.pop()
        else:
            start = end = top
        offsets[index] = align_up(start, buffer.align)
        stop = offsets[index] + buffer.size
        free = _coalesced([*free, (start, offsets[index]), (stop, max(stop, end))])
        top = max(top, stop)
        live.append(index)
    return offsets


def _coalesced(blocks: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for start, end in sorted(block for block in blocks if block[0] < block[1]):
        if out and out[-1][1] == start:
            out[-1] = (out[-1][0], end)
        else:
            out.append((start, end))
    return out


def iree(buffers: Sequence[Interval]) -> tuple[list[int], int]:
    """Offsets in bytes, and barriers inserted: buffers whose lives are connected lie one after the other, without
    alignment; every group starts at 0, behind a barrier if there is one before it (GPUReuseSharedMemoryAllocs)."""
    groups: list[list[int]] = []
    for index, buffer in enumerate(buffers):
        joined = [group for group in groups if any(buffer.meets(buffers[other]) for other in group)]
        groups = [group for group in groups if group not in joined]
        groups.append(sorted([index, *(other for group in joined for other in group)]))
    offsets = [0] * len(buffers)
    for group in groups:
        end = 0
        for index in group:
            offsets[index] = end
            end += buffers[index].size
    return offsets, len(groups) - 1


def aligned(buffers: Sequence[Interval], align: int) -> list[Interval]:
    return [replace(buffer, align=align) for buffer in buffers]
