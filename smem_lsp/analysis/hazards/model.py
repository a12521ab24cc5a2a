"""What runs of a kernel show: races, accesses outside of their buffers, missing lanes, missing proxy fences."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from smem_lsp.analysis.execution.conflicting_accesses import Pair
from smem_lsp.analysis.execution.named_barrier_arrivals import Miscount
from smem_lsp.ir.nodes import Access, Barrier, Dims, Exchange, Proxy


@dataclass(frozen=True, slots=True)
class Race:
    """A data race: two threads of a block ``dims`` touch ``byte`` of one buffer, and nothing orders them.

    ``threads``: the linear thread id in ``first``, that in ``second``; ``lanes``: both are lanes of one warp, so a
    barrier of the warp would order them, else a barrier of the block is missing; ``exchanged``: the lanes exchange
    values in between, which orders no memory; ``data``: data decide whether or where one of the accesses happens;
    ``pending``: the first is an asynchronous copy that its thread has not waited for; ``named``: their warps go
    different ways, and named barriers do not order them; ``proved``: the block is known, else the race happens in every
    block that was tried, or in the largest block that the kernel is written for; ``several``: more than one block was
    tried; ``cut``: one access stands in a loop that was not run to its end, so other warps may race, too.
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
    """``thread`` accesses memory outside of the buffer, from its ``byte`` on, whatever the kernel's inputs are.
    ``dims``: in this block; None: in any block."""

    access: Access
    byte: int
    thread: int
    dims: Dims | None


@dataclass(frozen=True, slots=True)
class MissingLane:
    """``thread`` comes to the barrier or exchange ``node`` of its warp without ``other``, whose lane the mask names and
    which has not returned. ``proved``: the block is known; ``tail``: it happens only when a size among the kernel's
    inputs is no multiple of the block's."""

    node: Barrier | Exchange
    thread: int
    other: int
    proved: bool
    tail: bool


@dataclass(frozen=True, slots=True)
class ProxyHazard:
    """A thread writes ``byte`` (``first``), and the asynchronous proxy reads it without a fence in between
    (``second``). ``overwritten``: a bulk copy reads it (``first``), and a thread overwrites it (``second``) before the
    copy is waited for. ``proved``: the block is known."""

    first: Access | Proxy
    second: Access | Proxy
    byte: int
    threads: tuple[int, int]
    overwritten: bool
    proved: bool


@dataclass(frozen=True, slots=True)
class Hazards:
    """What runs of the kernel show. ``split``: points of added warp barriers that only a part of some warp came to;
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
    return frozenset((race.first.point, race.second.point) for race in races)
