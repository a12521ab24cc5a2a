"""One run of one block: all threads at once, a barrier interval at a time.

Nothing is concluded from what is not known: an access that cannot be evaluated is left out, and where an order may come
from something else than a barrier (named barriers, locks, flags, unknown calls) the run ends or starts anew.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from smem_lsp.analysis.evaluate import Evaluator, asks, iterations
from smem_lsp.analysis.events import Event
from smem_lsp.analysis.meetings import Meetings
from smem_lsp.analysis.named_barriers import Arrivals
from smem_lsp.analysis.script import Script, Step, is_free, is_loaded, narrows
from smem_lsp.analysis.terms import Term
from smem_lsp.analysis.turns import turns
from smem_lsp.analysis.values import LoopFacts, Values
from smem_lsp.ir.model import Access, Barrier, Branch, CopyWait, Exchange, Jump, Kernel, Loop, Place, Space

_TURNS = (12, 5, 4)  # iterations that are run of a loop with barriers, by how many loops are around it
_PLAIN = (8, 4, 3, 2)  # of one without
_FEW = 4
_LAST_STAGES = 6  # iterations at its end that are run of one with asynchronous copies
_MET = 2  # iterations after which a loop has met itself over its back edge
_MAX_NOTED = 20_000  # accesses of one run, iterations and threads counted
_MAX_SUPPOSED = 4_000  # of a branch or loop that this run does not come to
_MAX_BEHIND = 12_000  # behind a return or the like of which it is not known whether the block takes it
_MAX_DECIDED = 100_000  # branches and iterations of one run, threads counted
_ALL_LANES = 0xFFFFFFFF


class _Lost(Exception):
    """From here on it is not known who runs what."""


@dataclass(frozen=True, slots=True)
class Outside:
    """``thread`` accesses bytes from ``byte`` on, which its buffer does not have."""

    byte: int
    thread: int


@dataclass(frozen=True, slots=True)
class Missed:
    """``thread`` comes to an operation of its warp whose mask names the lane of ``other``, which goes another way."""

    thread: int
    other: int


@dataclass(slots=True)
class Run:
    """``met``: accesses that meet; ``outside``: access -> who leaves its buffer, whatever values the kernel gets;
    ``missed``: barrier or exchange of a warp -> who comes to it without a lane that its mask names."""

    kernel: Kernel
    values: Values
    script: Script
    block: Evaluator
    met: Meetings = field(default_factory=Meetings)
    outside: dict[int, Outside] = field(default_factory=dict)
    missed: dict[int, Missed] = field(default_factory=dict)
    left: int = _MAX_NOTED
    undecided: int = _MAX_DECIDED
    depth: int = 0  # loops around the point that it has come to
    at: int = -1  # the point that the run has come to
    free: bool = False  # has somebody gone away for a reason that is not known of every launch?
    decisions: frozenset[int] = (
        frozenset()
    )  # branches and loops around it that rest on what the kernel is given
    decided: int = 0  # the symbols that they rest on, and those of returns: their bits
    supposed: bool = False
    unsure: bool = False  # does what happens rest on values that threads agree on unless they race?
    deserted: bool = (
        False  # have all threads returned for what the kernel is given, or for the block's place?
    )
    away: set[int] = field(default_factory=set)  # threads that have returned
    broken: set[int] = field(default_factory=set)  # threads that have left the innermost loop
    named: Arrivals = field(default_factory=Arrivals)
    cut: set[int] = field(default_factory=set)  # loops of which not all iterations were run

    def go(self) -> Run:
        """Run the kernel as far as it can be followed."""
        try:
            self._steps(self.script.steps, self.block)
        except _Lost:
            self.met.forget()
            self.named.all_seen = False
        return self

    # ---- control -----------------------------------------------------------------------------------------------------

    def _steps(self, steps: Sequence[Step], here: Evaluator) -> Evaluator | None:
        """Run ``steps`` for the threads ``here``; those that come to the end."""
        going: Evaluator | None = here
        for step in steps:
            if going is None:
                return None
            node = step.node
            self._come_to(node.point)
            if isinstance(node, Access):
                self._access(node, going)
            elif isinstance(node, Branch):
                going = self._branch(step, node, going)
            elif isinstance(node, Loop):
                going = self._loop(step, node, going)
            elif isinstance(node, Exchange):
                self.met.exchanged += 1
                self._gather(node.point, going)
            elif isinstance(node, Barrier | Place):
                self._barrier(step, going)
            elif isinstance(node, CopyWait):
                self._copies(node.kind, self.script.added.left.get(node.point, node.left), going)
            elif isinstance(node, Jump):
                if node.kind == "return":
                    self.away.update(going.threads)
                elif node.kind == "break":
                    self.broken.update(going.threads)
                return None
        return going

    def _copies(self, kind: str, left: int, going: Evaluator) -> None:
        if kind == "commit":
            self.met.flights.commit(going.threads)
        elif kind == "unknown":
            self.met.lose_copies()
        else:
            self.met.wait(going.threads, None if kind == "all" else left)

    def _barrier(self, step: Step, going: Evaluator) -> None:
        if step.lands:
            self.met.wait(going.threads, None if self.script.added.waits[step.node.point] else 0)
        if step.syncs:
            if len(going.threads) + len(self.away) < len(self.block.threads):
                raise _Lost  # threads that miss it are at other barriers from here on
            self.met.barrier()
        elif step.orders:
            if not self.supposed and isinstance(step.node, Barrier):
                self._arrive(step.node, going)
            self.met.forget()  # for whom, and with whom, is not followed
        elif step.warps:
            self.met.warp_barrier(going.threads)
            self._gather(step.node.point, going)

    def _arrive(self, node: Barrier, going: Evaluator) -> None:
        number, count = self.values.named.get(node.point, (None, None))
        numbers = None if number is None else going.values(number)
        counts = None if count is None else going.values(count)
        if numbers is None or counts is None:
            self.named.all_seen = False
            return
        for each in set(numbers):
            here = [(t, c) for t, n, c in zip(going.threads, numbers, counts) if n == each]
            if len({c for _, c in here}) == 1:
                self.named.come(node, each, here[0][1], {thread // self.met.warp for thread, _ in here})

    def _gather(self, point: int, going: Evaluator) -> None:
        """Are all lanes here that the mask of an operation names, but for those that have returned?"""
        term = self.values.masks.get(point)
        mask = (
            _ALL_LANES
            if point in self.script.added.in_warps
            else None
            if term is None
            else going.constant(term)
        )
        if mask is None or point in self.missed:
            return
        here = set(going.threads)
        first: dict[int, int] = {}
        for thread in going.threads:
            first.setdefault(thread // self.met.warp, thread)
        for thread in self.block.threads:
            warp, lane = divmod(thread, self.met.warp)
            if warp in first and mask >> lane & 1 and thread not in here and thread not in self.away:
                self.missed[point] = Missed(first[warp], thread)
                return

    def _come_to(self, point: int) -> None:
        """Go on to a point: what is called on the way may have synchronised."""
        if point > self.at and self._calls(self.at, point):
            self.met.forget()
        self.at = point

    def _calls(self, after: int, before: int) -> bool:
        opaque = self.kernel.opaque
        return bisect_right(opaque, after) < bisect_left(opaque, before)

    def _decide(self, here: Evaluator) -> None:
        self.undecided -= len(here.threads)
        if self.undecided < 0:
            raise _Lost  # it would take too long

    def _branch(self, step: Step, node: Branch, here: Evaluator) -> Evaluator | None:
        self._decide(here)
        if step.paired:
            self._pass_over(
                step, here
            )  # the arms are ordered against each other in a way that is not followed
            return here
        condition = self.values.conditions[node.point]
        mask = here.values(condition)
        if step.uniform and (step.free or mask is None) and not step.symbols & self.decided:
            for arm, truth in ((step.first, True), (step.second, False)):
                elsewhere = mask is None or any(mask) != truth
                if elsewhere and any(each.orders for each in arm):
                    self.named.all_seen = False
                if arm and elsewhere and not narrows(condition, truth, self.script.sizes):
                    self._suppose(step, arm, here, again=False)
            if mask is None and step.leaves and not step.waits:
                staying_arm = self._arm_that_stays(step, condition)
                if staying_arm is not None:
                    return self._stay(step, staying_arm, here)
        if mask is None:
            self._pass_over(step, here)
            return here
        staying: set[int] = set()
        ordered = step.orders or self._calls(node.point, step.end)
        with self._decided_by(step, stays=step.leaves):
            for arm, taken in ((step.first, mask), (step.second, [not each for each in mask])):
                if ordered:
                    self.met.forget()
                if any(taken):
                    inside = here if all(taken) else here.only([int(each) for each in taken])
                    going = self._steps(arm, inside) if arm else inside
                    staying.update(going.threads if going is not None else ())
                    if ordered:
                        self.met.forget()
        if not staying and step.returns and step.uniform and not self.supposed:
            self.deserted = True
        return _only(here, staying)

    def _arm_that_stays(self, step: Step, condition: Term) -> Sequence[Step] | None:
        """The one arm that does not lead away for sure: all threads are in it, or none is behind the branch."""
        for arm, other, truth in ((step.first, step.second, True), (step.second, step.first, False)):
            if any(isinstance(each.node, Jump) for each in other) and not any(each.leaves for each in arm):
                return None if narrows(condition, truth, self.script.sizes) else arm
        return None

    def _stay(self, step: Step, arm: Sequence[Step], here: Evaluator) -> Evaluator | None:
        """Go on behind a branch of which only that all threads take it alike is known, through ``arm``."""
        with self._decided_by(step, stays=True):
            self.free, self.left = True, min(self.left, _MAX_BEHIND)
            self._trust(step)
            going = self._steps(arm, here)
        self._come_to(step.end)
        return going

    def _trust(self, step: Step) -> None:
        self.unsure = self.unsure or step.node.point in self.script.alike

    @contextmanager
    def _decided_by(self, step: Step, *, stays: bool) -> Iterator[None]:
        """Inside, what happens rests on how this branch or loop goes; with ``stays`` it does so for good."""
        decisions, decided = self.decisions, self.decided
        if step.free:
            self.decisions |= {step.node.point}
            if isinstance(step.node, Branch):
                self.decided |= step.symbols
        try:
            yield
        finally:
            self.decisions = decisions
            if not stays:
                self.decided = decided
            elif step.free:
                self.free = True

    def _suppose(self, step: Step, arm: Sequence[Step], here: Evaluator, *, again: bool) -> None:
        """Run steps that some launch surely runs, though this run does not: with all threads, and the symbols unknown
        that decide it. Afterwards all is as it was before."""
        met, kept = (
            self.met,
            (
                self.at,
                self.away,
                self.broken,
                self.depth,
                self.decisions,
                self.decided,
                self.free,
                self.unsure,
            ),
        )
        before = met.open, met.synced, met.exchanged, met.flights
        supposed, self.supposed = self.supposed, True
        self.away, self.broken, self.free = set(self.away), set(self.broken), True
        self._trust(step)
        met.open = {storage: list(events) for storage, events in met.open.items()}
        met.flights = met.flights.saved()
        self.decisions |= {step.node.point}
        self.decided |= step.symbols
        bits = self.script.bits
        names = {name: value for name, value in here.symbols.items() if not bits.get(name, 0) & step.symbols}
        unknown = Evaluator(here.dims, names, here.strict, here.bound, here.threads)
        left, self.left = self.left, min(self.left, _MAX_SUPPOSED)
        spent = self.left
        try:
            for _ in range(2 if again else 1):
                self._steps(arm, unknown)
                self._come_to(step.end)
        except _Lost:
            met.forget()
        met.open, met.synced, met.exchanged, met.flights = before
        self.supposed, self.left = supposed, left - (spent - self.left)
        self.at, self.away, self.broken, self.depth, self.decisions, self.decided, self.free, self.unsure = (
            kept
        )

    def _loop(self, step: Step, node: Loop, here: Evaluator) -> Evaluator | None:
        facts = self.values.loops[node.point]
        outer, self.broken = self.broken, set()
        with self._decided_by(step, stays=step.returns):
            if facts.once:
                self._steps(step.first, here)
            else:
                self._turns(step, node, facts, here)
        self.broken = outer
        if step.orders or self._calls(node.point, node.end_point):
            self.met.forget()
        return _only(here, set(here.threads) - self.away)

    def _turns(self, step: Step, node: Loop, facts: LoopFacts, here: Evaluator) -> None:
        """The iterations that are known: the first ones, and the last where it is a long loop that is counted."""
        if step.waits:
            raise _Lost  # for a flag or a lock
        limits = _TURNS if step.syncs else _PLAIN
        most = limits[min(self.depth, len(limits) - 1)]
        counted = turns(facts, here)
        lasts = 0
        if counted is not None and max(counted.counts) > most and not facts.exits and not step.returns:
            if not step.syncs or min(counted.counts) == max(counted.counts):
                lasts = _LAST_STAGES if step.copies and most > _LAST_STAGES else 2 if most > _FEW else 1
        self.depth += 1
        enough = self.left // 2  # is left for what is behind the loop, once it has met itself
        for number, inside in enumerate(iterations(facts, here, most)):
            if number >= _MET and self.left < enough and step.sure and not step.leaves:
                self._pass_over(step, here)
                break
            if lasts and number == most - lasts:
                self._pass_over(step, here)
                for back in reversed(range(lasts)):
                    last = counted.last(back) if counted is not None else None
                    if last is not None:
                        self._turn(step, node, last)
                break
            if inside is None or self.left <= 0:
                if number == 0 and step.uniform and step.free and not facts.exits:
                    self._suppose(step, step.first, here, again=True)
                self._pass_over(step, here)
                break
            if not self._turn(step, node, inside):
                break
        self.depth -= 1

    def _turn(self, step: Step, node: Loop, inside: Evaluator) -> bool:
        """One iteration; False when no thread runs it."""
        self._decide(inside)
        running = _only(inside, set(inside.threads) - self.broken - self.away)
        if running is None:
            return False
        self._steps(step.first, running)
        self._come_to(node.end_point)
        return True

    def _pass_over(self, step: Step, here: Evaluator) -> None:
        """Go behind what is not run here: perhaps through barriers, if all threads come to those."""
        self.cut.add(step.node.point)
        if step.leaves or step.waits or not step.sure:
            raise _Lost
        self.unsure = self.unsure or (step.trusting and step.syncs)
        if step.orders and not (isinstance(step.node, Loop) and not step.unsteady):
            self.named.all_seen = False
        if step.copies:
            self.met.lose_copies()
        if step.orders or self._calls(step.node.point, step.end):
            self.met.forget()
        elif step.syncs:
            self.met.barrier()
        self.met.warp_barrier(here.threads)
        self.at = max(self.at, step.end)

    # ---- accesses ----------------------------------------------------------------------------------------------------

    def _access(self, access: Access, here: Evaluator) -> None:
        buffer = self.kernel.buffers[access.buffer]
        storage = self.script.storages[access.buffer]
        width, offset = self.script.widths[access.point], self.values.offset(access, buffer)
        moving = asks(access, here)
        if access.guess or access.part is not None or self.left <= 0 or moving is None:
            return
        here = moving
        starts = None if width is None or offset is None else here.values(offset)
        unit = self.script.units[storage]
        if (
            width is None
            or offset is None
            or (starts is None and not is_loaded(offset, self.kernel.memory.pointers))
        ):
            return
        self.left -= len(here.threads)
        if starts is None:
            self._note(access, storage, unit, here, {}, {}, data=True)
            return
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
                if start < 0 or start + width > end:
                    if not (self.free or self.decisions or is_free(offset)):
                        self.outside.setdefault(access.point, Outside(start, thread))
                elif inside is None or inside[number]:
                    for cell in range(start // unit, (start + width - 1) // unit + 1):
                        low.setdefault(cell, thread)
                        high[cell] = thread
        self._note(access, storage, unit, here, low, high)

    def _note(
        self,
        access: Access,
        storage: int,
        unit: int,
        here: Evaluator,
        low: dict[int, int],
        high: dict[int, int],
        *,
        data: bool = False,
    ) -> None:
        buffer = self.kernel.buffers[access.buffer]
        event = Event(
            access,
            low,
            high,
            self.met.synced,
            self.met.exchanged,
            self.values.stored.get(access.point),
            here,
            lanes="volatile" in buffer.qualifiers and not buffer.dims,  # a flag, perhaps
            decisions=self.decisions,
            supposed=self.supposed,
            data=data,
            unsure=self.unsure,
        )
        self.met.add(storage, unit, event)

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


def _only(here: Evaluator, threads: set[int]) -> Evaluator | None:
    """``here`` for those of its threads."""
    return here.of([thread in threads for thread in here.threads])
