"""What runs of a kernel show: races, accesses outside of their buffers, missing lanes, missing proxy fences."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from smem_lsp.analysis.execution.conflicting_accesses import Pair
from smem_lsp.analysis.execution.named_barrier_arrivals import Miscount
from smem_lsp.ir.nodes import Access, Barrier, Dims, Exchange, Proxy


@dataclass(frozen=True, slots=True)
class Race:
    """Threads ``threads`` of a block ``dims`` touch ``byte`` of one buffer in ``first`` and ``second``, in no order.

    ``lanes``: both are lanes of one warp, which a barrier of the warp would order; else no barrier of the block is
    between. ``exchanged``: but a shuffle or vote is; ``data``: whether or where one of the two happens rests on data;
    ``pending``: the first is an asynchronous copy that its thread has not waited for; ``named``: their warps
    go different ways, and named barriers do not order them. ``proved``: the block is known; else it happens in
    every sample of more than one warp, or in the largest block that the kernel is written for. ``several``: blocks were
    tried; ``cut``: one of the two stands in a loop of which not all iterations were run, so other warps may meet, too.
    """

    first: Access
    second: Access
    byte: int
    threads: tuple[int, int]
    dims: Dims
    proved: bool
    several: bool
    lanes: bool = False
    exchanged: bool = False
    data: bool = False
    pending: bool = False
    named: bool = False
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Overrun:
    """``thread`` accesses bytes from ``byte`` on, which the buffer does not have, whatever the kernel is given.
    ``dims``: the block that does; None: any block."""

    access: Access
    byte: int
    thread: int
    dims: Dims | None


@dataclass(frozen=True, slots=True)
class MissingLane:
    """``thread`` comes to the barrier or exchange ``node`` of its warp without the lane of ``other``, which its mask
    names and which has not returned. ``proved``: the block is known; ``tail``: only when a size that the kernel is
    given is no multiple of the block's."""

    node: Barrier | Exchange
    thread: int
    other: int
    proved: bool
    tail: bool


@dataclass(frozen=True, slots=True)
class ProxyHazard:
    """``first`` and ``second``: a write by a thread and what has the asynchronous proxy read the same ``byte``, with no
    fence between; or, ``overwritten``, a bulk copy and a write of what it may still read. ``proved``: the block is
    known."""

    first: Access | Proxy
    second: Access | Proxy
    byte: int
    threads: tuple[int, int]
    overwritten: bool
    proved: bool


@dataclass(frozen=True, slots=True)
class Hazards:
    """What runs of the kernel show. ``split``: added barriers of warps that a warp came to in part;
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
    """The accesses (points) of each."""
    return frozenset((race.first.point, race.second.point) for race in races)
