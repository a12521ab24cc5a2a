"""Changes that end races with asynchronous copies: a wait that leaves fewer groups open, another wait, a barrier."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from smem_lsp.analysis.execution.conflicting_accesses import Pair
from smem_lsp.analysis.execution.program import Added
from smem_lsp.analysis.hazards.model import Hazards, Race, pairs_of
from smem_lsp.analysis.repairs.insertion_points import InsertionPoint, candidates, common_loop
from smem_lsp.ir.nodes import NO_OBJECT, Barrier, BarrierKind, CopyWait, CopyWaitKind, Kernel, Node, walk
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass

_TRIES = 3  # of each kind


class WaitChecker(Protocol):
    """Judges the kernel with something added. ``asked``: only whether these pairs of accesses still race."""

    def __call__(self, *, added: Added, asked: frozenset[Pair] | None = None) -> Hazards: ...


@dataclass(frozen=True, slots=True)
class MissingCopyWait:
    """Races with asynchronous copies that one change ends, if any does. ``place``: point of the place where a wait, a
    barrier, or a wait in front of a barrier would stand; ``ungrouped``: the wait has to cover copies of no group, too;
    ``lower``: an existing wait (point) and how many groups it may leave open."""

    races: tuple[Race, ...]
    place: int | None = None
    wait: bool = False
    barrier: bool = False
    ungrouped: bool = False
    lower: tuple[int, int] | None = None

    @property
    def added(self) -> Added:
        """The change."""
        if self.lower is not None:
            point, left = self.lower
            return Added(left={point: left})
        assert self.place is not None
        return Added(
            barriers=frozenset((self.place,) if self.barrier else ()),
            waits={self.place: self.ungrouped} if self.wait else {},
        )


def missing_copy_waits(
    kernel: Kernel, races: Sequence[Race], points: Sequence[InsertionPoint], judge: WaitChecker
) -> Iterator[MissingCopyWait]:
    """``races`` in as few groups as there are changes that end them; of those that nothing ends, one for each read.
    ``points``: where all threads of the block come to."""
    found = _repair(kernel, races, points, judge)
    if found is not None:
        yield found
        return
    by_read: dict[int, list[Race]] = {}
    for race in races:
        by_read.setdefault(race.second.point, []).append(race)
    for group in by_read.values():
        one = None if len(by_read) == 1 else _repair(kernel, group, points, judge)
        yield one or MissingCopyWait(tuple(group))


def _repair(
    kernel: Kernel, races: Sequence[Race], points: Sequence[InsertionPoint], judge: WaitChecker
) -> MissingCopyWait | None:
    """The least change that ends all these races."""
    pairs = pairs_of(races)
    for change in _changes(kernel, tuple(races), points):
        checkpoint()
        if pairs.isdisjoint(pairs_of(judge(added=change.added, asked=pairs).races)):
            return change
    return None


def _changes(
    kernel: Kernel, races: tuple[Race, ...], points: Sequence[InsertionPoint]
) -> Iterator[MissingCopyWait]:
    """What may end ``races``, the least change in front. Copies that threads make together, and copies of no group that
    are pending, have waits of their own."""
    pending = any(race.pending for race in races)
    if any(race.first.start is not None or (pending and not race.first.grouped) for race in races):
        return
    read = min(race.second.point for race in races)
    near = sorted((each for each in points if each.point < read), key=lambda each: -each.point)
    between = _between(kernel, races, points)[:_TRIES]
    if pending:
        yield from _lower_waits(kernel, races, read)
        yield from _more_waits(races, near, between)
    else:
        behind = [each.point for each in near if isinstance(each.previous, CopyWait)]
        for point in dict.fromkeys((*behind[:_TRIES], *between)):
            yield MissingCopyWait(races, point, barrier=True)


def _lower_waits(kernel: Kernel, races: tuple[Race, ...], read: int) -> Iterator[MissingCopyWait]:
    """Existing waits in front of the read that leave fewer groups open, the nearest first."""
    waits = [
        node
        for node in walk(kernel.body)
        if isinstance(node, CopyWait)
        and node.kind is CopyWaitKind.GROUPS
        and node.bound == NO_OBJECT
        and node.left
        and node.point < read
    ]
    for wait in sorted(waits, key=lambda each: -each.point)[:_TRIES]:
        for left in reversed(range(wait.left)):
            yield MissingCopyWait(races, lower=(wait.point, left))


def _more_waits(
    races: tuple[Race, ...], near: Sequence[InsertionPoint], between: Sequence[int]
) -> Iterator[MissingCopyWait]:
    """Another wait in front of a block barrier, or one with a barrier of its own."""
    ahead = [each.point for each in near if _is_block_barrier(each.following)][:_TRIES]
    for ungrouped in (False, True):
        for point in ahead:
            yield MissingCopyWait(races, point, wait=True, ungrouped=ungrouped)
        for point in between:
            yield MissingCopyWait(races, point, wait=True, barrier=True, ungrouped=ungrouped)


def _is_block_barrier(node: Node | None) -> bool:
    return isinstance(node, Barrier) and node.kind is BarrierKind.BLOCK


def _between(kernel: Kernel, races: Sequence[Race], points: Sequence[InsertionPoint]) -> list[int]:
    forward = [race for race in races if race.first.point < race.second.point]
    back = [race for race in races if race.first.point >= race.second.point]
    if forward:
        return candidates(kernel, forward, points, back=False)
    return candidates(kernel, back, points, back=True) if common_loop(kernel, back) else []
