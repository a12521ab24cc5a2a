"""Barriers of one interval that are for a part of the block, and which threads they order.

Such a barrier is for neighbours: a warp, a tile of it, several warps. In a warp a mask may name the lanes, another one
for each of them. Where it is not known who waits for whom, all neighbours are taken to.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field

from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass

Masks = Mapping[int, frozenset[int]]
"""By the number of a group of neighbours: sets of its threads, as bits, that wait for each other; of a group that is
not there, all of them do."""


@dataclass(slots=True)
class Gathering:
    """``before``: the one that came before it; ``size``: of a group of neighbours; ``groups``: those of which some
    thread has come; ``widest``: of all sizes up to here."""

    before: Gathering | None
    size: int
    groups: Collection[int]
    masks: Masks | None = None
    widest: int = field(init=False)

    def __post_init__(self) -> None:
        self.widest = self.size if self.before is None else max(self.size, self.before.widest)

    def orders(self, one: int, other: int) -> bool:
        """Do these threads wait for each other in it?"""
        group = one // self.size
        if other // self.size != group or group not in self.groups:
            return False
        if self.masks is None or group not in self.masks:
            return True
        first = group * self.size
        both = 1 << one - first | 1 << other - first
        return any(mask & both == both for mask in self.masks[group])


def ordered(since: Gathering | None, until: Gathering | None, one: int, other: int) -> bool:
    """Have the two threads waited for each other behind ``since``, at the latest in ``until``?"""
    while until is not None and until is not since:
        checkpoint()
        if one // until.widest != other // until.widest:
            return False
        if until.orders(one, other):
            return True
        until = until.before
    return False


def groups_of(threads: Collection[int], size: int) -> Collection[int]:
    """The groups of neighbours that the threads are of."""
    if isinstance(threads, range):
        return range(threads[0] // size, threads[-1] // size + 1)
    return {thread // size for thread in threads}
