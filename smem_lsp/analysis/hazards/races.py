"""Races on shared memory and accesses outside of it, each shown by one run of one block.

The kernel is run for all threads of a sample block at once (``block_run``); two accesses that meet in one interval, one
of them writing, are a race. A witness has to appear under every sample, for two unrelated assignments of the free
symbols.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from smem_lsp.analysis.execution.access_recorder import Accesses, Outside
from smem_lsp.analysis.execution.async_proxy import Proxies, Unfenced
from smem_lsp.analysis.execution.conflicting_accesses import Conflict, ConflictingAccesses, Pair
from smem_lsp.analysis.execution.happens_before import unordered
from smem_lsp.analysis.execution.interpreter import Interpreter
from smem_lsp.analysis.execution.missing_lanes import Missed, others_return
from smem_lsp.analysis.execution.named_barrier_arrivals import Counts, Miscount
from smem_lsp.analysis.execution.program import NOTHING, RESTLESS, Added, Calm, Program
from smem_lsp.analysis.execution.program_builder import write_script
from smem_lsp.analysis.execution.warp_traces import Traces
from smem_lsp.analysis.threads.block_shape import evidence, smallest_grid
from smem_lsp.analysis.threads.divergence import Verdicts, assignments, samples_for
from smem_lsp.analysis.threads.uniformity import Control
from smem_lsp.analysis.values.block_shape import BlockShape, most_threads
from smem_lsp.analysis.values.evaluate import Evaluator, Work
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import (
    Access,
    Barrier,
    BarrierKind,
    Dims,
    Exchange,
    Kernel,
    Loop,
    Node,
    Place,
    Proxy,
    walk,
)
from smem_lsp.source import checkpoint
from smem_lsp.targets.every import MAX_BLOCK, MAX_THREADS, WARP_SIZE

_MAX_WORK = 200_000  # numbers that are worked out in one run: of a value for each thread

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Race:
    """Threads ``threads`` of a block ``dims`` touch ``byte`` of one buffer in ``first`` and ``second``, in no order.

    ``lanes``: both are lanes of one warp, which a barrier of the warp would order; else no barrier of the block is
    between. ``exchanged``: but a shuffle or vote is; ``data``: whether or where one of the two happens rests on data;
    ``flying``: the first is an asynchronous copy that its thread has not waited for; ``named``: their warps
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
    flying: bool = False
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
class Straggler:
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
    stragglers: tuple[Straggler, ...] = ()
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


def find_hazards(
    kernel: Kernel,
    values: ValueFacts,
    control: Control,
    verdicts: Verdicts,
    shape: BlockShape | None,
    added: Added = NOTHING,
    calm: Calm = RESTLESS,
    asked: frozenset[Pair] | None = None,
) -> Hazards:
    """All pairs of accesses that race, accesses outside of their buffers, and operations of a warp that lanes miss.

    ``shape``: the block, if one is known or launched in sight; ``added``: what the kernel is taken to have besides;
    ``calm``: accesses of which nothing else is to be shown; ``asked``: only whether these pairs race, and what lanes
    miss of barriers that are added."""
    if kernel.irregular is not None or not (kernel.buffers or values.masks or values.named):
        return Hazards()
    nodes = tuple(walk(kernel.body))
    reads = any(isinstance(n, Proxy) and n.buffer >= 0 for n in nodes)
    if not (values.masks or values.named or reads) and calm.idle.issuperset(
        n.point for n in nodes if isinstance(n, Access)
    ):
        return Hazards()
    ordered = bool(added.barriers) or any(
        isinstance(n, Barrier) and n.kind is BarrierKind.BLOCK for n in nodes
    )
    alone = not ordered and shape is None and kernel.launch_bounds is None
    in_warps = alone and _in_warps(kernel, nodes)
    samples = _samples(kernel, values, control, shape, in_warps=in_warps, alone=alone)
    if not samples:
        return Hazards()
    pairwise = not (reads or values.named or verdicts.paired)  # else it counts what others do in between
    if asked is not None and pairwise:
        calm = calm.but(frozenset(point for pair in asked for point in pair), nodes)
    script = write_script(kernel, values, control, verdicts, added, calm)
    wanted = asked if pairwise else None

    def nothing_yet() -> Accesses:
        traces = _traces(kernel, values, verdicts, shape)
        met = ConflictingAccesses(WARP_SIZE, wanted)
        proxies = Proxies() if reads else None
        return Accesses(kernel, values, script, met, traces, proxies, shaped=shape is not None)

    if alone and any(_strays(kernel, dims, script, nothing_yet) for dims in samples):
        samples = _samples(kernel, values, control, shape, in_warps=True)
    seen = _Seen()
    named = Counts(kernel, values)
    for dims in samples:
        checkpoint()
        for symbols in assignments(script.terms, dims, smallest_grid(kernel)):
            run = _run(dims, symbols, nothing_yet, brief=asked is not None)
            traces = run.accesses.traces
            named.note(run.named, math.prod(dims))
            if traces is not None and not named.found:
                for pair, met in unordered(traces).items():
                    run.met.across.setdefault(pair, replace(met, named=True))
            first = seen.within is None
            seen.note(run)
            if asked is not None and not (seen.within or (added.in_warps and seen.missed)):
                return Hazards()
            if not (seen.anything or named.found):
                break
            if pairwise:
                if first and asked is None and not seen.by_data:
                    script = script.only(seen.points)
                wanted = frozenset(seen.within or ())
        else:
            continue
        break
    tails = _Seen()
    if values.masks and asked is None:
        script = script.only(frozenset())
        for dims in samples:
            accesses = Accesses(kernel, values, script, ConflictingAccesses(WARP_SIZE))
            tails.note(Interpreter(kernel, values, script, _block(dims, _tail(script, dims)), accesses).go())
    miscounts = named.told(known=shape is not None)
    if not (seen.anything or tails.missed):
        return Hazards(miscounts=miscounts)
    return replace(
        _Told(kernel, samples, shape is not None).hazards(seen, tails), miscounts=miscounts, full=seen.full
    )


def _run(
    dims: Dims, symbols: dict[str, int], accesses: Callable[[], Accesses], *, brief: bool
) -> Interpreter:
    """A run with these values; with another block of the grid instead, if the whole of this one returns and that one
    comes to more accesses. ``brief``: it is over when all that is asked about meets."""
    run = _run_once(accesses(), _block(dims, symbols), brief)
    places = sorted(name for name in symbols if name.startswith("blockIdx."))
    if not run.deserted or not places:
        return run
    turned = dict(zip(places, [symbols[name] for name in reversed(places)] if len(places) > 1 else [0]))
    other = _run_once(accesses(), _block(dims, symbols | turned), brief)
    return min(run, other, key=lambda each: each.accesses.left)


def _strays(kernel: Kernel, dims: Dims, script: Program, accesses: Callable[[], Accesses]) -> bool:
    """Does such a block leave some array, so that the kernel is written for a smaller one?"""
    symbols = next(assignments(script.terms, dims, smallest_grid(kernel)))
    return _run(dims, symbols, accesses, brief=False).accesses.strays


def _block(dims: Dims, symbols: dict[str, int]) -> Evaluator:
    return Evaluator(dims, symbols, work=Work(_MAX_WORK))


def _run_once(accesses: Accesses, block: Evaluator, brief: bool) -> Interpreter:
    return Interpreter(accesses.kernel, accesses.values, accesses.script, block, accesses, brief=brief).go()


@dataclass(slots=True)
class _Seen:
    """What all runs so far have in common; None before the first."""

    across: dict[Pair, Conflict] | None = None
    within: dict[Pair, Conflict] | None = None
    outside: dict[int, Outside] | None = None
    missed: dict[int, Missed] | None = None
    unfenced: dict[Pair, Unfenced] | None = None
    cut: set[int] = field(default_factory=set)
    full: bool = False

    def note(self, run: Interpreter) -> None:
        self.cut |= run.cut
        self.full = self.full or run.met.full
        self.within = _common(self.within, {**run.met.within, **run.met.across})
        self.across = _common(self.across, run.met.across)
        self.outside = _common(self.outside, run.accesses.outside)
        self.missed = _common(self.missed, run.missed)
        proxies = run.accesses.proxies
        self.unfenced = _common(self.unfenced, {} if proxies is None else proxies.found)

    @property
    def anything(self) -> bool:
        return bool(self.within or self.outside or self.missed or self.unfenced)

    @property
    def by_data(self) -> bool:
        """Does what others access count, too, for whether two of them meet?"""
        return any(met.data for met in (self.within or {}).values())

    @property
    def points(self) -> frozenset[int]:
        """Accesses of which something is shown."""
        return frozenset(self.outside or ()).union(point for pair in self.within or () for point in pair)


@dataclass(frozen=True, slots=True)
class _Told:
    """From what runs have in common to what is told."""

    kernel: Kernel
    samples: list[Dims]
    known: bool  # the block

    def hazards(self, seen: _Seen, tails: _Seen) -> Hazards:
        nodes = {node.point: node for node in walk(self.kernel.body)}
        across, within = seen.across or {}, seen.within or {}
        loops = [node for node in nodes.values() if isinstance(node, Loop) and node.point in seen.cut]
        inside = {p for pair in within for p in pair if any(n.point < p < n.end_point for n in loops)}
        races = [self._race(nodes, pair, met, lanes=False) for pair, met in across.items()]
        for pair, met in within.items():
            if pair not in across and met.threads[0] // WARP_SIZE == met.threads[1] // WARP_SIZE:
                race = self._race(nodes, pair, met, lanes=True)
                races.append(replace(race, cut=not inside.isdisjoint(pair)))
        overruns: list[Overrun] = []
        for point, each in (seen.outside or {}).items():
            node = nodes[point]
            if isinstance(node, Access) and (self.known or each.thread == 0):  # which every block has
                overruns.append(
                    Overrun(node, each.byte, each.thread, self.samples[0] if self.known else None)
                )
        surely = seen.missed or {}
        stragglers: list[Straggler] = []
        for point, missed in {**(tails.missed or {}), **surely}.items():
            node = nodes[point]
            tail = point not in surely
            if isinstance(node, Barrier | Exchange) and not (tail and others_return(self.kernel, node)):
                proved = self.known and not tail
                stragglers.append(Straggler(node, missed.thread, missed.other, proved, tail))
        split = frozenset(point for point in surely if isinstance(nodes[point], Place))
        return Hazards(
            tuple(races), tuple(overruns), tuple(stragglers), split, proxies=tuple(self._proxies(nodes, seen))
        )

    def _proxies(self, nodes: Mapping[int, Node], seen: _Seen) -> Iterator[ProxyHazard]:
        for pair, found in (seen.unfenced or {}).items():
            first, second = nodes[pair[0]], nodes[pair[1]]
            assert isinstance(first, Access | Proxy) and isinstance(second, Access | Proxy)
            yield ProxyHazard(first, second, found.byte, found.threads, found.overwritten, self.known)

    def _race(self, nodes: Mapping[int, Node], pair: Pair, met: Conflict, *, lanes: bool) -> Race:
        first, second = nodes[pair[0]], nodes[pair[1]]
        assert isinstance(first, Access) and isinstance(second, Access)
        several, exchanged = len(self.samples) > 1, lanes and met.exchanged
        proved = self.known and not met.data
        dims = self.samples[0]
        rest = lanes, exchanged, met.data, met.flying, met.named
        return Race(first, second, met.byte, met.threads, dims, proved, several, *rest)


def _traces(
    kernel: Kernel, values: ValueFacts, verdicts: Verdicts, shape: BlockShape | None
) -> Traces | None:
    """Where barriers are named, or one in the arms of a branch, and the block is known, so that they may be matched."""
    if shape is None or not (values.named or verdicts.paired):
        return None
    families = {n.family for n in walk(kernel.body) if isinstance(n, Barrier) and n.point in values.named}
    apart = len(families) == 1 or (not families and bool(verdicts.paired))
    return Traces(shape.threads) if apart else None


def _tail(script: Program, dims: Dims) -> dict[str, int]:
    """The first block of a grid, and sizes that end in its midst."""
    given = next(assignments(script.terms, dims), {})
    threads = math.prod(dims)
    builtin = {"blockIdx": 0, "gridDim": 1}
    return {name: builtin.get(name.partition(".")[0], threads // 2 + 3) for name in given}


def _common(found: Mapping[K, V] | None, seen: Mapping[K, V]) -> dict[K, V]:
    """What was found before and is seen again."""
    return dict(seen) if found is None else {key: found[key] for key in found if key in seen}


def _samples(
    kernel: Kernel,
    values: ValueFacts,
    control: Control,
    shape: BlockShape | None,
    *,
    in_warps: bool,
    alone: bool = False,
) -> list[Dims]:
    """``shape`` alone, or blocks to try that the kernel's own text does not rule out. ``in_warps``: it may be written
    for a single warp, and is tried with that; ``alone``: so it is if no array tells how large the block is."""
    if shape is not None:
        return [shape.dims] if 1 < shape.threads <= MAX_THREADS else []
    told = evidence(kernel, values, control)
    if told.equal:
        return []  # an extent that is not known says how large the block is
    if in_warps or (alone and told.upper == MAX_BLOCK):
        samples = [(min(WARP_SIZE, told.upper[0]), 1, 1)] if values.table.axes() == "x" else []
    elif told.upper == MAX_BLOCK:
        samples = samples_for(values)
    elif math.prod(told.sample) <= most_threads(kernel)[0]:
        samples = [told.sample]  # the largest block that the kernel is written for
    else:
        samples = [each for each in samples_for(values) if _fits(each, told.upper, most_threads(kernel)[0])]
    return [dims for dims in dict.fromkeys(samples) if 1 < math.prod(dims) <= MAX_THREADS]


def _in_warps(kernel: Kernel, nodes: Iterable[Node]) -> bool:
    """Does a kernel without barriers of the block order lanes of a warp, or count on their order? Where nothing orders
    anything, larger blocks want a barrier."""
    lanes = any(isinstance(each, Barrier | Exchange) for each in nodes)
    return lanes or any(each.stays or "volatile" in each.qualifiers for each in kernel.buffers)


def _fits(dims: Dims, upper: Dims, threads: int) -> bool:
    return math.prod(dims) <= threads and all(size <= most for size, most in zip(dims, upper))
