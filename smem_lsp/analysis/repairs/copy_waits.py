"""What ends races with asynchronous copies: fewer groups left open by a wait, one more wait, a barrier behind it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from smem_lsp.analysis.execution.conflicting_accesses import Pair
from smem_lsp.analysis.execution.program import Added
from smem_lsp.analysis.hazards.model import Hazards, Race, pairs_of
from smem_lsp.analysis.repairs.insertion_points import InsertionPoint, candidates, common_loop
from smem_lsp.ir.nodes import Barrier, BarrierKind, CopyWait, CopyWaitKind, Kernel, walk
from smem_lsp.source import checkpoint

_TRIES = 3  # of each kind


class Judge(Protocol):
    """Judges the kernel with something added. ``asked``: only whether these pairs of accesses still race."""

    def __call__(self, *, added: Added, asked: frozenset[Pair] | None = None) -> Hazards: ...


@dataclass(frozen=True, slots=True)
class CopyGap:
    """Races with asynchronous copies that one change ends, if any does. ``place``: where a wait, a barrier, or the one
    in front of the other would stand; ``loose``: the wait has to cover copies of no group too; ``lower``: an existing
    wait (point) and how many groups it may leave open."""

    races: tuple[Race, ...]
    place: int | None = None
    wait: bool = False
    barrier: bool = False
    loose: bool = False
    lower: tuple[int, int] | None = None


def copy_gaps(
    kernel: Kernel, races: Sequence[Race], spots: Sequence[InsertionPoint], judge: Judge
) -> Iterator[CopyGap]:
    """``races`` in as few groups as there are changes that end them; of what nothing ends one for each read.
    ``spots``: where all threads of the block come to."""
    found = _repair(kernel, races, spots, judge)
    if found is not None:
        yield found
        return
    by_read: dict[int, list[Race]] = {}
    for race in races:
        by_read.setdefault(race.second.point, []).append(race)
    for group in by_read.values():
        yield (None if len(by_read) == 1 else _repair(kernel, group, spots, judge)) or CopyGap(tuple(group))


def _repair(
    kernel: Kernel, races: Sequence[Race], spots: Sequence[InsertionPoint], judge: Judge
) -> CopyGap | None:
    group = tuple(races)
    pairs = pairs_of(races)
    for gap, added in _changes(kernel, group, spots):
        checkpoint()
        if not any(
            (race.first.point, race.second.point) in pairs for race in judge(added=added, asked=pairs).races
        ):
            return gap
    return None


def _changes(
    kernel: Kernel, races: tuple[Race, ...], spots: Sequence[InsertionPoint]
) -> Iterator[tuple[CopyGap, Added]]:
    """What may end ``races``, the least change in front. Copies of a group, and those that are bound to an object, have
    waits of their own."""
    flying = any(race.pending for race in races)
    if any(race.first.start is not None or (flying and not race.first.grouped) for race in races):
        return
    read = min(race.second.point for race in races)
    near = sorted((spot for spot in spots if spot.place.point < read), key=lambda s: -s.place.point)
    between = _between(kernel, races, spots)
    if not flying:
        behind = [spot.place.point for spot in near if isinstance(spot.after, CopyWait)]
        for point in list(dict.fromkeys((*behind[:_TRIES], *between[:_TRIES]))):
            yield CopyGap(races, point, barrier=True), Added(barriers=frozenset((point,)))
        return
    waits = [
        node for node in walk(kernel.body) if isinstance(node, CopyWait) and node.kind is CopyWaitKind.GROUPS
    ]
    for wait in sorted((w for w in waits if w.left and w.point < read), key=lambda w: -w.point)[:_TRIES]:
        checkpoint()
        for left in reversed(range(wait.left)):
            yield CopyGap(races, lower=(wait.point, left)), Added(left={wait.point: left})
    ahead = [
        spot.place.point
        for spot in near
        if isinstance(spot.before, Barrier) and spot.before.kind is BarrierKind.BLOCK
    ]
    for loose in (False, True):
        for point in ahead[:_TRIES]:
            yield CopyGap(races, point, wait=True, loose=loose), Added(waits={point: loose})
        for point in between[:_TRIES]:
            gap = CopyGap(races, point, wait=True, barrier=True, loose=loose)
            yield gap, Added(barriers=frozenset((point,)), waits={point: loose})


def _between(kernel: Kernel, races: Sequence[Race], spots: Sequence[InsertionPoint]) -> list[int]:
    forward = [race for race in races if race.first.point < race.second.point]
    back = [race for race in races if race.first.point >= race.second.point]
    if forward:
        return candidates(kernel, forward, spots, back=False)
    return candidates(kernel, back, spots, back=True) if common_loop(kernel, back) else []
