"""What runs of a kernel show: races, accesses outside of their buffers, missing lanes, missing proxy fences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from smem_lsp.analysis.decision.size_sets import SizeCondition
from smem_lsp.analysis.execution.conflicting_accesses import Pair
from smem_lsp.analysis.execution.named_barrier_arrivals import Miscount
from smem_lsp.analysis.values.block_shape import BlockAssumption
from smem_lsp.ir.nodes import Access, Barrier, Dims, Proxy, WarpCollective
from smem_lsp.source.record import dataclass

Key = tuple[str, int, int]
"""What a run shows: its kind, and the points of what takes part."""


@dataclass(frozen=True, slots=True)
class Race:
    """A data race: two threads of a block ``dims`` touch ``byte`` of one buffer, and nothing orders them.

    ``threads``: the linear thread id in ``first``, that in ``second``; ``lanes``: both are lanes of one warp, so a
    barrier of the warp would order them, else a barrier of the block is missing; ``exchanged``: the lanes exchange
    values in between, which orders no memory; ``data``: data decide whether or where one of the accesses happens;
    ``pending``: the first is an asynchronous copy that its thread has not waited for; ``named``: their warps go
    different ways, and named barriers do not order them; ``ground``: the blocks for which it is shown; ``cut``: one
    access stands in a loop that was not run to its end, so other warps may race, too; ``condition``: for which
    values of a parameter it happens; None: for all; ``any_block``: these are the same in every
    block; ``untold``: only the verdict counts it,
    because data decide, and nobody names the block.
    """

    first: Access
    second: Access
    byte: int
    threads: tuple[int, int]
    dims: Dims
    ground: BlockAssumption
    lanes: bool = False
    exchanged: bool = False
    data: bool = False
    pending: bool = False
    named: bool = False
    cut: bool = False
    condition: SizeCondition | None = None
    any_block: bool = False
    untold: bool = False

    @property
    def proved(self) -> bool:
        """Does it happen for a block that somebody names, whatever the data are?"""
        return self.ground.is_certain and not self.data and not self.condition

    @property
    def key(self) -> Key:
        return "within" if self.lanes else "across", self.first.point, self.second.point

    @property
    def pair(self) -> Pair:
        """The points of its accesses."""
        return self.first.point, self.second.point


@dataclass(frozen=True, slots=True)
class Overrun:
    """``thread`` accesses memory outside of the buffer, from its ``byte`` on, whatever the kernel's inputs are."""

    access: Access
    byte: int
    thread: int
    ground: BlockAssumption

    @property
    def key(self) -> Key:
        return "outside", self.access.point, 0


@dataclass(frozen=True, slots=True)
class MissingLane:
    """``thread`` comes to the barrier or exchange ``node`` of its warp without ``other``, whose lane the mask names and
    which has not returned. ``tail``: it happens only when a size among the kernel's inputs is no multiple of the
    block's; ``condition``: for which values of a parameter, where that was solved for; ``data``: loaded
    values decide."""

    node: Barrier | WarpCollective
    thread: int
    other: int
    ground: BlockAssumption
    tail: bool
    condition: SizeCondition | None = None
    data: bool = False

    @property
    def key(self) -> Key:
        return "tail" if self.tail else "missing", self.node.point, 0


@dataclass(frozen=True, slots=True)
class ProxyHazard:
    """A thread writes ``byte`` (``first``), and the asynchronous proxy reads it without a fence in between
    (``second``). ``overwritten``: a bulk copy reads it (``first``), and a thread overwrites it (``second``) before the
    copy is waited for."""

    first: Access | Proxy
    second: Access | Proxy
    byte: int
    threads: tuple[int, int]
    overwritten: bool
    ground: BlockAssumption

    @property
    def key(self) -> Key:
        return "unfenced", self.first.point, self.second.point


@dataclass(frozen=True, slots=True)
class Hazards:
    """What runs of the kernel show, each with its blocks. ``split``: points of added warp barriers that only a
    part of some warp came to;
    ``miscounts``: named barriers that wait for another number of threads than come; ``full``: there are more races."""

    races: tuple[Race, ...] = ()
    overruns: tuple[Overrun, ...] = ()
    missing_lanes: tuple[MissingLane, ...] = ()
    split: frozenset[int] = frozenset()
    miscounts: tuple[Miscount, ...] = ()
    proxies: tuple[ProxyHazard, ...] = ()
    full: bool = False

    @property
    def across(self) -> tuple[Race, ...]:
        """Between threads of different warps."""
        return tuple(race for race in self.races if not race.lanes)

    @property
    def within(self) -> tuple[Race, ...]:
        """Only between lanes of one warp."""
        return tuple(race for race in self.races if race.lanes)


def pairs_of(races: Iterable[Race]) -> frozenset[Pair]:
    """The accesses (points) of each race."""
    return frozenset(race.pair for race in races)


Shown = TypeVar("Shown", Race, Overrun, MissingLane, ProxyHazard, Miscount)


def all_hazards(found: Sequence[Hazards]) -> Hazards:
    """What runs of several named blocks show: once, with all the blocks that show it."""
    if len(found) == 1:
        return found[0]
    return Hazards(
        _joined([each.races for each in found]),
        _joined([each.overruns for each in found]),
        _joined([each.missing_lanes for each in found]),
        frozenset().union(*(each.split for each in found)),
        _joined([each.miscounts for each in found]),
        _joined([each.proxies for each in found]),
        any(each.full for each in found),
    )


def joined_races(found: Sequence[Sequence[Race]]) -> tuple[Race, ...]:
    """The races of several named blocks: equal ones once, with all the blocks that show them."""
    if len(found) < 2:
        return tuple(found[0]) if found else ()
    return _joined(found)


def with_races(shown: Hazards, more: Iterable[Race]) -> Hazards:
    """``shown``, and those of ``more`` that are between other accesses."""
    known = {frozenset(race.pair) for race in shown.races}
    new = tuple(race for race in more if frozenset(race.pair) not in known)
    return replace(shown, races=(*shown.races, *new)) if new else shown


def _joined(found: Sequence[Sequence[Shown]]) -> tuple[Shown, ...]:
    """Equal ones of several blocks as one; one that not all show says so. What happens in another block under another
    condition is not the same."""
    by_key: dict[Key, Shown] = {}
    for each in (each for one in found for each in one):
        known = by_key.get(each.key)
        if known is None:
            by_key[each.key] = each
        elif _condition(known) == _condition(each):
            by_key[each.key] = replace(known, ground=known.ground.joined(each.ground))
    return tuple(
        replace(each, ground=replace(each.ground, all_named=len(each.ground.named) == len(found)))
        for each in by_key.values()
    )


def _condition(shown: object) -> SizeCondition | None:
    return shown.condition if isinstance(shown, Race | MissingLane) else None
