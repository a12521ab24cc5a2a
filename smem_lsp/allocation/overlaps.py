"""Which buffers of a layout have bytes in common."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence


class Overlaps:
    """Which items of a layout have bytes in common. ``offsets`` and ``sizes`` in bytes, by position."""

    def __init__(self, offsets: Sequence[int], sizes: Sequence[int]) -> None:
        ends = [start + size for start, size in zip(offsets, sizes)]
        self._offsets, self._ends = offsets, ends
        self._starting, self._begun = _by_rising(offsets)
        self._ending, self._done = _by_rising(ends)

    def of(self, item: int) -> int:
        """The mask of those that it has bytes in common with, itself among them."""
        begun = self._begun[bisect_left(self._starting, self._ends[item])]
        return begun & ~self._done[bisect_right(self._ending, self._offsets[item])]


def _by_rising(places: Sequence[int]) -> tuple[list[int], list[int]]:
    """The places in order, and the masks of the items of the first 0, 1, ... of them."""
    order = sorted(range(len(places)), key=places.__getitem__)
    masks = [0]
    for item in order:
        masks.append(masks[-1] | 1 << item)
    return [places[item] for item in order], masks
