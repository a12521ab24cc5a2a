"""Races on shared memory, each shown by one run of one block.

The kernel is run for all threads of a sample block at once, a barrier interval at a time: every access whose address
and guards can be evaluated is noted, and two of different warps that meet in one interval, one of them writing, are a
race. Nothing is concluded from what is not known: an access that cannot be evaluated is left out, and where an order
may come from something else than a barrier of the block (named barriers, locks, flags, unknown calls) the run ends or
starts anew. A witness has to appear under every sample, for two unrelated assignments of the free symbols.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from smem_lsp.analysis.block_shape import BlockShape, evidence
from smem_lsp.analysis.divergence import Verdicts, assignments, samples_for
from smem_lsp.analysis.evaluate import Dims, Evaluator, advance, iterations
from smem_lsp.analysis.intervals import MAX_DIMS
from smem_lsp.analysis.terms import LoopVar, Op, Opaque, Term
from smem_lsp.analysis.uniformity import Control
from smem_lsp.analysis.values import LoopFacts, Values
from smem_lsp.ir.model import Access, Barrier, Branch, Jump, Kernel, Kind, Loop, Node, Seq, Space, walk

_TURNS = 12  # iterations of one loop with barriers that are run
_PLAIN = 8  # of one without
_FIRST = 3  # of a longer one, and two at its end
_MAX_NOTED = 20_000  # accesses of one run, iterations and threads counted
_WARP = 32
_MOST = 1024  # threads of a block

Pair = tuple[int, int]  # points of two accesses, in the order of the run


@dataclass(frozen=True, slots=True)
class Race:
    """Threads ``threads`` of a block ``dims`` touch ``byte`` of one buffer in ``first`` and ``second``, with no barrier
    of the block between. ``proved``: the block is known; else it happens in every sample of more than one warp, or in
    the largest block that the kernel is written for."""

    first: Access
    second: Access
    byte: int
    threads: tuple[int, int]
    dims: Dims
    proved: bool
    several: bool  # blocks were tried


@dataclass(frozen=True, slots=True)
class _Witness:
    byte: int
    threads: tuple[int, int]


class _Lost(Exception):
    """From here on it is not known who runs what."""


def find_races(
    kernel: Kernel, values: Values, control: Control, verdicts: Verdicts, shape: BlockShape | None
) -> tuple[Race, ...]:
    """All pairs of accesses that race. ``shape``: the block, if one is known or launched in sight."""
    barriers = {node.kind for node in walk(kernel.body) if isinstance(node, Barrier)}
    if kernel.irregular is not None or not barriers <= {"block", "warp"}:
        return ()  # other orders between threads than those of block and warp barriers are not followed
    if shape is None and kernel.launch_bounds is None and "block" not in barriers:
        return ()  # written for one warp, perhaps
    samples = _samples(kernel, values, control, shape)
    terms = [
        *values.conditions.values(),
        *(t for loop in values.loops.values() for t in (loop.first, loop.again)),
    ]
    terms += [term for index in values.indices.values() for term in index] + list(values.offsets.values())
    found: dict[Pair, _Witness] | None = None
    for dims in samples:
        for symbols in assignments(terms, dims):
            run = _Run(kernel, values, control, verdicts, Evaluator(dims, symbols))
            seen = run.races()
            found = seen if found is None else {pair: found[pair] for pair in found if pair in seen}
            if not found:
                return ()
    nodes = {node.point: node for node in walk(kernel.body) if isinstance(node, Access)}
    return tuple(
        Race(
            nodes[a], nodes[b], witness.byte, witness.threads, samples[0], shape is not None, len(samples) > 1
        )
        for (a, b), witness in (found or {}).items()
    )


def _samples(kernel: Kernel, values: Values, control: Control, shape: BlockShape | None) -> list[Dims]:
    """``shape`` alone, or blocks to try that the kernel's own text does not rule out; none when no more than one warp
    may run."""
    if shape is not None:
        return [shape.dims] if _WARP < shape.threads <= _MOST else []
    told = evidence(kernel, values, control)
    if told.equal:
        return []  # an extent that is not known says how large the block is
    if told.upper != MAX_DIMS:
        samples = [told.sample]  # the largest block that the kernel is written for
    else:
        samples = samples_for(values)
    return [dims for dims in dict.fromkeys(samples) if _WARP < math.prod(dims) <= _MOST]


@dataclass(slots=True)
class _Event:
    """One access of one iteration: unit -> lowest, and highest, thread that touches it."""

    access: Access
    low: Mapping[int, int]
    high: Mapping[int, int]


@dataclass(slots=True)
class _Run:
    kernel: Kernel
    values: Values
    control: Control
    verdicts: Verdicts
    block: Evaluator
    open: dict[int, list[_Event]] = field(default_factory=dict)  # of this interval, by storage
    found: dict[Pair, _Witness] = field(default_factory=dict)
    left: int = _MAX_NOTED
    at: int = -1  # the point that the run has come to
    units: dict[int, int] = field(default_factory=dict)  # bytes that are told apart, by storage
    storages: dict[int, int] = field(default_factory=dict)  # buffer -> storage
    away: set[int] = field(default_factory=set)  # threads that have returned
    broken: set[int] = field(default_factory=set)  # threads that have left the innermost loop

    def races(self) -> dict[Pair, _Witness]:
        """Pairs that meet in one interval."""
        self._prepare()
        try:
            self._seq(self.kernel.body.items, self.block)
        except _Lost:
            self.open.clear()
        return self.found

    def _prepare(self) -> None:
        dynamic = [buffer.index for buffer in self.kernel.buffers if buffer.space is Space.DYNAMIC]
        for buffer in self.kernel.buffers:
            self.storages[buffer.index] = dynamic[0] if buffer.index in dynamic else buffer.index
        for node in walk(self.kernel.body):
            if isinstance(node, Access):
                storage = self.storages[node.buffer]
                self.units[storage] = math.gcd(self.units.get(storage, 0), self._width(node) or 0)

    def _width(self, access: Access) -> int | None:
        return access.width if access.width is not None else self.kernel.buffers[access.buffer].element_bytes

    # ---- control -----------------------------------------------------------------------------------------------------

    def _seq(self, nodes: Sequence[Node], here: Evaluator) -> Evaluator | None:
        """Run ``nodes`` for the threads ``here``; those that come to the end."""
        going: Evaluator | None = here
        for node in nodes:
            if going is None:
                return None
            self._come_to(node.point)
            if isinstance(node, Access):
                self._access(node, going)
            elif isinstance(node, Barrier):
                if node.kind == "block":
                    if len(going.threads) + len(self.away) < len(self.block.threads):
                        raise _Lost  # threads that miss it are at other barriers from here on
                    self.open.clear()
            elif isinstance(node, Branch):
                going = self._branch(node, going)
            elif isinstance(node, Loop):
                going = self._loop(node, going)
            elif isinstance(node, Jump):
                if node.kind == "return":
                    self.away.update(going.threads)
                elif node.kind == "break":
                    self.broken.update(going.threads)
                return None
        return going

    def _come_to(self, point: int) -> None:
        """Go on to a point: what is called on the way may have synchronised."""
        if point > self.at and self._calls(self.at, point):
            self.open.clear()
        self.at = point

    def _calls(self, after: int, before: int) -> bool:
        opaque = self.kernel.opaque
        return bisect_right(opaque, after) < bisect_left(opaque, before)

    def _branch(self, node: Branch, here: Evaluator) -> Evaluator | None:
        mask = here.values(self.values.conditions[node.point])
        if mask is None:
            if _leads_out(node.then) or _leads_out(node.otherwise):
                raise _Lost
            self._pass_over(node)
            return here
        if any(each.point in self.verdicts.paired for each in walk(Seq((node,)))):
            self.open.clear()  # the arms are ordered against each other in a way that is not followed
            return here
        staying: set[int] = set()
        ordered = self._calls(node.point, self._end(node))
        for arm, taken in ((node.then, mask), (node.otherwise, [not each for each in mask])):
            if any(taken):
                going = self._seq(arm.items, here if all(taken) else here.only([int(each) for each in taken]))
                staying.update(going.threads if going is not None else ())
                if ordered:
                    self.open.clear()
        return _only(here, staying)

    def _loop(self, node: Loop, here: Evaluator) -> Evaluator | None:
        facts = self.values.loops[node.point]
        outer, self.broken = self.broken, set()
        try:
            if facts.once:
                self._seq(node.body.items, here)
            else:
                self._turns(node, facts, here)
        finally:
            self.broken = outer
        if self._calls(node.point, node.end_point):
            self.open.clear()
        return _only(here, set(here.threads) - self.away)

    def _turns(self, node: Loop, facts: LoopFacts, here: Evaluator) -> None:
        """The iterations that are known; behind a loop whose iterations are not, an interval begins when it may have
        run a barrier."""
        if _waits(node, facts):
            raise _Lost  # for a flag or a lock
        barriers = _has_barrier(node)
        longer = barriers and facts.trips is not None and facts.trips > _TURNS
        for number, inside in enumerate(iterations(facts, here, _TURNS if barriers else _PLAIN)):
            if longer and number == _FIRST:
                self._pass_over(node)
                for last in _last_turns(facts, here):
                    self._seq(node.body.items, last)
                return
            if inside is None or self.left <= 0:
                if any(isinstance(each, Jump) and each.kind == "return" for each in walk(node.body)):
                    raise _Lost
                self._pass_over(node)
                return
            running = _only(inside, set(inside.threads) - self.broken - self.away)
            if running is None:
                return
            self._seq(node.body.items, running)
            self._come_to(node.end_point)

    def _end(self, node: Branch) -> int:
        """The last point in either arm."""
        return max((each.point for each in walk(Seq((node,)))), default=node.point)

    def _pass_over(self, node: Node) -> None:
        """Go behind what is not run here: perhaps through barriers, if all threads come to those."""
        inside = [
            each.point for each in walk(Seq((node,))) if isinstance(each, Barrier) and each.kind == "block"
        ]
        if any(point not in self.control.barriers and point not in self.verdicts.paired for point in inside):
            raise _Lost
        if inside:
            self.open.clear()

    # ---- accesses ----------------------------------------------------------------------------------------------------

    def _access(self, access: Access, here: Evaluator) -> None:
        buffer = self.kernel.buffers[access.buffer]
        storage = self.storages[access.buffer]
        width, offset = self._width(access), self.values.offset(access, buffer)
        if access.guess or access.part is not None or "volatile" in buffer.qualifiers or self.left <= 0:
            return
        starts = None if width is None or offset is None else here.values(offset)
        if starts is None or width is None:
            return
        self.left -= len(here.threads)
        unit = self.units[storage]
        end = buffer.bytes if buffer.space is Space.STATIC and buffer.bytes is not None else 1 << 40
        inside = self._inside(access, here)
        low: dict[int, int] = {}
        high: dict[int, int] = {}
        if inside is None and width == unit and min(starts) >= 0 and max(starts) + width <= end:
            cells = [start // unit for start in starts]  # threads come in rising order
            high = dict(zip(cells, here.threads))
            low = dict(zip(reversed(cells), reversed(here.threads)))
        else:
            for number, (thread, start) in enumerate(zip(here.threads, starts)):
                if start < 0 or start + width > end or (inside is not None and not inside[number]):
                    continue
                for cell in range(start // unit, (start + width - 1) // unit + 1):
                    low.setdefault(cell, thread)
                    high[cell] = thread
        event = _Event(access, low, high)
        for earlier in self.open.setdefault(storage, []):
            self._meet(earlier, event, unit)
        self.open[storage].append(event)

    def _inside(self, access: Access, here: Evaluator) -> list[bool] | None:
        """For each thread: does every index stay in its dimension? One that leaves its row says that the block is not
        meant to be so. None: all do."""
        dims = self.kernel.buffers[access.buffer].dims
        found: list[bool] | None = None
        for index, dim in list(zip(self.values.indices.get(access.point, ()), dims))[1:]:
            numbers = here.values(index)
            if numbers is None or dim is None:
                return [False] * len(here.threads)
            if min(numbers) < 0 or max(numbers) >= dim:
                found = found or [True] * len(here.threads)
                found = [ok and 0 <= number < dim for ok, number in zip(found, numbers)]
        return found

    def _meet(self, one: _Event, other: _Event, unit: int) -> None:
        pair = one.access.point, other.access.point
        if pair in self.found or not _conflict(one.access.kind, other.access.kind):
            return
        for cell in sorted(one.low.keys() & other.low.keys()):
            low, high, least, most = one.low[cell], one.high[cell], other.low[cell], other.high[cell]
            if (one.access.kind is Kind.WRITE and low != high) or (
                other.access.kind is Kind.WRITE and least != most
            ):
                continue  # written by several threads at once: all the same value, one would think
            for a, b in ((low, most), (high, least)):
                if a // _WARP != b // _WARP:
                    self.found[pair] = _Witness(cell * unit, (a, b))
                    return


def _conflict(one: Kind, other: Kind) -> bool:
    """Is their order seen? Two writes may write the same, and two updates may be atomic."""
    return (one is Kind.READ) != (other is Kind.READ) or {one, other} == {Kind.WRITE, Kind.UPDATE}


def _only(here: Evaluator, threads: set[int]) -> Evaluator | None:
    """``here`` for those of its threads."""
    mask = [int(thread in threads) for thread in here.threads]
    if all(mask):
        return here
    return here.only(mask) if any(mask) else None


def _has_barrier(node: Node) -> bool:
    return any(isinstance(each, Barrier) and each.kind == "block" for each in walk(Seq((node,))))


def _leads_out(seq: Seq) -> bool:
    """May somebody leave ``seq`` by a jump?"""
    return any(_jumps(node, inside=False) for node in seq)


def _jumps(node: Node, *, inside: bool) -> bool:
    if isinstance(node, Jump):
        return node.kind == "return" or not inside
    if isinstance(node, Branch):
        return any(_jumps(each, inside=inside) for arm in (node.then, node.otherwise) for each in arm)
    return isinstance(node, Loop) and any(_jumps(each, inside=True) for each in node.body)


def _waits(node: Loop, facts: LoopFacts) -> bool:
    """Does the loop wait for what another thread does to shared memory?"""
    deciding = (facts.first, facts.head, facts.again, *facts.exits)
    if any(_from_shared(term) for term in deciding):
        return True
    unknown = any(not term.known for term in deciding)
    return unknown and any(isinstance(each, Access) and each.kind is Kind.UPDATE for each in walk(node.body))


def _from_shared(term: Term) -> bool:
    stack, seen = [term], set[Term]()
    while stack:
        each = stack.pop()
        if each in seen:
            continue
        seen.add(each)
        if isinstance(each, Opaque):
            if each.access is not None:
                return True
            stack.extend(each.sources)
        elif isinstance(each, Op):
            stack.extend(each.args)
    return False


def _last_turns(facts: LoopFacts, here: Evaluator) -> Iterator[Evaluator]:
    """The last two iterations of a loop whose variables all advance by constant steps."""
    assert facts.trips is not None
    for turn in (facts.trips - 2, facts.trips - 1):
        bound: dict[LoopVar, list[int] | int] = {}
        for recurrence in facts.recurrences:
            found = advance(recurrence, here)
            if found is not None:
                first, step = found
                bound[recurrence.atom] = [each + turn * step for each in first]
        yield here.within(bound)
