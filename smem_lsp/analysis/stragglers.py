"""Operations of a warp that some of the lanes miss which their mask names."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Missed:
    """``thread`` comes to an operation of its warp whose mask names the lane of ``other``, which goes another way."""

    thread: int
    other: int


def first_missed(
    mask: int, here: Sequence[int], block: Sequence[int], away: Collection[int], warp: int
) -> Missed | None:
    """Are all lanes ``here`` that ``mask`` names, but for those that have returned? ``warp``: lanes of one."""
    if len(here) + len(away) >= len(block):
        return None  # all are here
    start, end = here[0], here[-1] + 1
    if end - start == len(here) and start % warp == 0 and (end % warp == 0 or end == len(block)):
        return None  # whole warps
    first: dict[int, int] = {}
    for thread in here:
        first.setdefault(thread // warp, thread)
    for thread in sorted(set(block).difference(here, away)):
        number, lane = divmod(thread, warp)
        if number in first and mask >> lane & 1:
            return Missed(first[number], thread)
    return None
