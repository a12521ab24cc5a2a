"""Along which ways two accesses of a kernel fall into one barrier interval.

An access stays *open* until a barrier that orders it. The walk follows every path of the region tree with the set of
open accesses. Beside each open access stands how its path led here: within one iteration of every loop around both,
over a back edge, or past loops and arms that hold a barrier and were not taken.

An asynchronous copy is a thread of its own from its issue to the wait of the thread that issued it: no barrier orders
it. How many groups its thread has committed since stands beside it; the wait that covers it makes it an access like any
other, which the next barrier orders.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import field
from itertools import count

from smem_lsp.analysis.dataflow.masks import bits, mutual
from smem_lsp.analysis.decision.open_accesses import (
    MOST_TURNS,
    State,
    add,
    before_back_edge,
    bounded,
    ending,
    in_flight,
    joined,
    marked,
    one_iteration_on,
    with_access,
    with_mark,
    without_decisions,
)
from smem_lsp.analysis.decision.path_classes import (
    SAME_TURN,
    Flight,
    InIteration,
    LastIteration,
    NotTaken,
    Ordering,
    Pair,
    PathClass,
)
from smem_lsp.analysis.decision.regions import Regions
from smem_lsp.ir.nodes import (
    NO_OBJECT,
    Access,
    Barrier,
    BarrierSite,
    Branch,
    CopyWait,
    CopyWaitKind,
    Jump,
    JumpKind,
    Loop,
    Node,
    Seq,
    WarpCollective,
)
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass

_MOST_ROUNDS = 6  # through a loop, with what was decided kept apart
ALL_COPIES = -1  # groups that a wait leaves open which covers copies of no group, too
_MOST_COMMITS = 8  # of a thread that are counted while a copy is in flight
_MOST_STEPS = 10_000  # nodes by ways: beyond, neither iterations nor what was decided are kept apart


def ways_between(
    body: Seq, accesses: Sequence[Access], interfering: Sequence[int], ordering: Ordering
) -> dict[Pair, frozenset[PathClass]]:
    """For each two accesses that may come one after the other with no barrier between, or beside one another in the
    arms of a divergent branch, and that interfere (bit i of ``interfering``: the i-th of ``accesses``): the ways. An
    access meets itself in another thread within the same iteration."""
    found = _walked(body, accesses, interfering, ordering)
    points = [access.point for access in accesses]
    return {
        (points[first], points[second]): frozenset(
            way for way, earlier in found.hits[second].items() if earlier >> first & 1
        )
        for second, met in found.pairs
        for first in bits(met)
    }


def meetings_between(
    body: Seq, accesses: Sequence[Access], interfering: Sequence[int], ordering: Ordering, most: int
) -> int:
    """How many others each access stands in a pair with that ``ways_between`` finds, of all of them; of more than
    ``most`` pairs only that it is more. No pair is made."""
    met = _walked(body, accesses, interfering, ordering).met
    pairs = sum(map(int.bit_count, met.values()))
    return pairs if pairs > most else sum(map(int.bit_count, mutual(met).values()))


def _walked(body: Seq, accesses: Sequence[Access], interfering: Sequence[int], ordering: Ordering) -> _Walk:
    index_of = {access.point: index for index, access in enumerate(accesses)}
    found = _Walk(ordering, index_of, interfering, copying=any(access.asynchronous for access in accesses))
    found.seq(body, {}, 0)
    return found


@dataclass(slots=True)
class _LeavingPaths:
    breaks: State = field(default_factory=dict)
    continues: State = field(default_factory=dict)


@dataclass(slots=True)
class _Walk(Regions):
    pairs: list[tuple[int, int]] = field(
        default_factory=list
    )  # a later access, and those it meets first (bits)
    # by index of the later access: the earlier ones (bits) by way
    hits: defaultdict[int, dict[PathClass, int]] = field(default_factory=lambda: defaultdict(dict))
    met: dict[int, int] = field(default_factory=dict)  # the same, by any way
    called: int = 0  # of ``ordering.calls``: how many the walk has come by
    crossing: list[int] = field(default_factory=list)  # loops around
    past: bool = False  # the function that is walked holds something that orders
    _met: dict[int, tuple[Node, ...]] = field(default_factory=dict)  # by the nodes (id)
    steps: int = 0

    def seq(self, body: Seq, state: State, beside: int) -> tuple[State, _LeavingPaths]:
        """Open accesses at the end. ``beside``: what other threads do meanwhile."""
        left = _LeavingPaths()
        for node in self.nodes_of(body):
            checkpoint()
            self.steps += self.copying and len(state)
            if self.ordering.calls:
                state = self.called_before(node.point, state)
            if isinstance(node, Access):
                self.access(node, state, beside)
                opened = PathClass(flight=Flight(node.bound)) if node.asynchronous else SAME_TURN
                state = with_access(state, opened, self.bit(node))
            elif isinstance(node, Barrier | BarrierSite):
                if node.point in self.covering:
                    state = self.landed(state, NO_OBJECT, self.covering[node.point])
                if node.point in self.ordering.clears:
                    state = in_flight(state)
                elif node.point in self.halves:
                    state = self.since(self.halves[node.point], node.point, state)
                elif node.point in self.of_arms:
                    state = self.outside(*self.of_arms[node.point], state)
            elif isinstance(node, CopyWait):
                state = self.waited_for(node, state)
            elif isinstance(node, WarpCollective):
                state = self.delivered_at(node, state)
            elif isinstance(node, Branch):
                if self.matters(node):
                    state = self.branch(node, state, beside, left)
            elif isinstance(node, Loop):
                if self.matters(node):
                    state = self.loop(node, state, beside)
            elif isinstance(node, Jump):
                if node.kind is JumpKind.BREAK:
                    left.breaks = joined(left.breaks, state)
                elif node.kind is JumpKind.CONTINUE:
                    left.continues = joined(left.continues, state)
                if node.point in self.ordering.uniform:
                    state = {}  # else others go on, with everything still open
        return state, left

    def since(self, arrived: int, point: int, state: State) -> State:
        """What is open behind a wait for those who have ``arrived``: in this iteration, what came in between."""
        between = sum(1 << bit for at, bit in self.index_of.items() if arrived < at < point)
        found: State = in_flight(state)
        for way, open_ in state.items():
            if way.flight is None and way.crossed is None:
                add(found, way, open_ & between)
        return found

    def outside(self, first: int, last: int, state: State) -> State:
        """What is open behind a barrier of all who come to an arm: what was done before they came there."""
        inside = sum(1 << bit for at, bit in self.index_of.items() if first <= at <= last)
        found: State = in_flight(state)
        for way, open_ in state.items():
            if way.flight is None:
                add(found, way, open_ & ~inside)
        return found

    def nodes_of(self, body: Seq) -> Sequence[Node]:
        """The nodes that matter, found once: a loop is walked several times. Before a call all of them do."""
        if self.ordering.calls:
            return body.items
        found = self._met.get(id(body))
        if found is None:
            found = self._met[id(body)] = tuple(filter(self.matters, body.items))
        return found

    def called_before(self, point: int, state: State) -> State:
        calls = self.ordering.calls
        if any(call <= point and call > self.called for call in calls):
            passed = [call for call in calls if self.called < call <= point]
            self.called = passed[-1]
            locked = self.locked if not self.ordering.locks.isdisjoint(passed) else 0
            return {SAME_TURN: self.waited | locked} if not self.ordering.waits.isdisjoint(passed) else {}
        return state

    @property
    def waited(self) -> int:
        """The bit that stands for a wait since the last barrier."""
        return 1 << len(self.index_of)

    @property
    def locked(self) -> int:
        """The bit that stands for a wait since then that one thread after the other leaves."""
        return 1 << len(self.index_of) + 2

    @property
    def stage(self) -> int:
        """The bit that stands for a stage of a pipeline, be there copies in it or not."""
        return 1 << len(self.index_of) + 1

    def access(self, node: Access, state: State, beside: int) -> None:
        index = self.index_of.get(node.point)
        if index is None:
            return
        if any(open_ & self.locked for open_ in state.values()):
            return
        mask = self.interfering[index]
        for way, open_ in state.items():
            self.hit(open_ & mask, index, way)
        if not any(open_ & self.waited for open_ in state.values()):
            self.hit((beside | 1 << index) & mask, index, SAME_TURN)

    def delivered_at(self, node: WarpCollective, state: State) -> State:
        """Loads of this iteration for which a lane has waited are over for all lanes that go on."""
        over = self.delivering.get(node.point, 0)
        found: State = {}
        for way, open_ in state.items():
            add(found, way, open_ & ~over if way.crossed is None else open_)
        return found

    def waited_for(self, node: CopyWait, state: State) -> State:
        """A thread commits its copies, or waits for them: those that have landed are open like any other access."""
        if node.point in self.ordering.clears:
            return {
                way: open_
                for way, open_ in state.items()
                if way.flight is None or way.flight.bound != node.bound
            }
        if not self.copying:
            return state
        if node.kind in (CopyWaitKind.GROUPS, CopyWaitKind.ALL):
            left = ALL_COPIES if node.kind is CopyWaitKind.ALL else node.left
            return self.landed(state, node.bound, self.covering.get(node.point, left))
        places = [f.place for f in (way.flight for way in state) if f is not None and f.bound == node.bound]
        newest = min(1 + max(places, default=0), _MOST_COMMITS)
        found: State = {}
        for way, open_ in state.items():
            if way.flight is None or way.flight.bound != node.bound:
                add(found, way, open_)
                continue
            place = way.flight.place
            stages, copies = open_ & self.stage, open_ & ~self.stage
            moved = _moved(node, place, newest)
            add(found, way._replace(flight=None if moved is None else Flight(node.bound, moved)), copies)
            if node.kind is CopyWaitKind.RELEASE and place == 1:
                continue
            # a stage is under way until it is released
            add(found, way._replace(flight=Flight(node.bound, place if moved is None else moved)), stages)
        if node.kind is CopyWaitKind.STAGE:
            add(found, PathClass(flight=Flight(node.bound, newest)), self.stage)
        elif node.kind is CopyWaitKind.UNKNOWN and node.bound != NO_OBJECT:
            add(found, PathClass(flight=Flight(node.bound, _MOST_COMMITS)), self.stage)
        return bounded(found)

    def landed(self, state: State, bound: int, left: int) -> State:
        """Behind a wait for all but the ``left`` newest groups of a thread."""
        found: State = {}
        for way, open_ in state.items():
            if way.flight is not None and way.flight.bound == bound and way.flight.place > left:
                way, open_ = way._replace(flight=None), open_ & ~self.stage
            add(found, way, open_)
        return bounded(found)

    def hit(self, earlier: int, later: int, way: PathClass) -> None:
        if way.flight is not None:
            way = way._replace(flight=Flight())
        if not earlier:
            return
        hits = self.hits[later]
        hits[way] = hits.get(way, 0) | earlier
        before = self.met.get(later, 0)
        self.met[later] = before | earlier
        if earlier & ~before:
            self.pairs.append((later, earlier & ~before))

    def branch(self, node: Branch, state: State, beside: int, left: _LeavingPaths) -> State:
        uniform = node.point in self.ordering.uniform
        told = uniform and self.orders(node)
        arms = ((node.then, True), (node.otherwise, False))
        inside = (0, 0) if uniform else tuple(self.beside(arm) for arm, _ in arms)
        ends: list[State] = []
        called = self.called
        for (arm, way), other in zip(arms, reversed(inside)):
            if way or not node.then.items:
                self.called = called
            else:
                last = self.summary(node.then).last
                self.called = max((call for call in self.ordering.calls if call <= last), default=called)
            leaves = uniform and self.past and bool(arm.items) and isinstance(arm.items[-1], Jump)
            start = self.decided(state, node.point, way) if told or leaves else state
            end, jumps = self.seq(arm, start, beside | other)
            left.breaks = joined(left.breaks, jumps.breaks)
            left.continues = joined(left.continues, jumps.continues)
            if any(each.point in self.of_arms for each in arm.items):  # to others it is open still
                end = joined(end, with_access({}, SAME_TURN, self.summary(arm).accesses))
            ends.append(end)
        if uniform:
            return joined(joined({}, ends[0]), ends[1])
        # a thread that jumped away leaves the others behind with all that is open
        jumped = any(self.summary(arm).jumps for arm, _ in arms)
        if jumped:
            left_open = state
        elif all(map(self.is_paired, (node.then, node.otherwise))):
            left_open = {}
        else:
            left_open = {way: open_ for way, open_ in state.items() if way.flight is None}
        return joined(joined(left_open, ends[0]), ends[1])

    def is_paired(self, arm: Seq) -> bool:
        """Do those who come to the arm meet all others, who come to the other one?"""
        return any(isinstance(each, Barrier) and each.point in self.ordering.paired for each in arm.items)

    def beside(self, arm: Seq) -> int:
        """Accesses of an arm that other threads may make while one runs the other arm: not those behind a call, which
        may wait for what the others do."""
        inside = self.summary(arm)
        start = arm.items[0].point if arm.items else 0
        call = next((each for each in self.ordering.calls if start <= each <= inside.last), None)
        if call is None:
            return inside.accesses
        behind = sum(1 << bit for point, bit in self.index_of.items() if call <= point <= inside.last)
        return inside.accesses & ~behind

    def loop(self, node: Loop, state: State, beside: int) -> State:
        told = node.point in self.ordering.uniform and self.orders(node)
        skipped = node.min_trip == 0
        leaves = (self.decided(state, node.point, False) if told else state) if skipped else {}
        once = node.trips == 1
        mine = self.summary(node.body).accesses
        self.crossing.append(node.point)
        called, past = self.called, self.past
        self.past = once and self.orders(node)
        counted = not once and self.orders(node)
        if counted:
            state = marked(state, InIteration(node.point))
        in_iterations = not once and self.summary(node.body).waits and self.steps < _MOST_STEPS
        if in_iterations and _trips(node):
            out = self.in_iterations(node, state, beside)
            self.crossing.pop()
            self.past = past
            return self.behind(out, node)
        for iteration in count():
            checkpoint()
            self.called = called
            end, left = self.seq(node.body, state, beside)
            end = joined(end, left.continues)
            if once:
                break
            around = joined(state, self.back(end, node.point, mine))
            if around == state:
                break
            most = _MOST_ROUNDS + (_MOST_COMMITS if self.summary(node.body).waits else 0)
            state = around if iteration < most and self.steps < _MOST_STEPS else without_decisions(around)
        self.crossing.pop()
        self.past = past
        if counted and node.point in self.ordering.uniform:
            end = ending(end, LastIteration(node.point), mine)
        out = joined(joined(leaves, end), left.breaks)
        return self.behind(out, node)

    def in_iterations(self, node: Loop, state: State, beside: int) -> State:
        """Behind a loop of few iterations, walked one by one: in which iteration a copy was issued says when it has
        landed."""
        mine, called = self.summary(node.body).accesses, self.called
        out: State = {}
        for iteration in range(_trips(node)):
            checkpoint()
            self.called = called
            end, left = self.seq(node.body, state, beside)
            mark = InIteration(node.point, iteration, before=True)
            end = ending(joined(end, left.continues), mark, mine)
            out = joined(out, ending(left.breaks, mark, mine))
            state = self.back(end, node.point, mine)
        return joined(out, end)

    def back(self, end: State, loop: int, mine: int) -> State:
        """What is open at the end of an iteration, at the start of the next one."""
        outer = self.crossing[:-1]
        found: State = {}
        for way, open_ in end.items():
            way = one_iteration_on(way, loop)
            if way.crossed is None:
                crossed = open_ & mine
                add(
                    found,
                    way._replace(crossed=loop, iterations=1, decisions=before_back_edge(way.decisions)),
                    crossed,
                )
                add(found, way, open_ & ~mine)
            elif way.crossed in outer:
                add(found, way, open_)
            else:
                counted = way.crossed == loop and way.flight is not None and way.iterations < MOST_TURNS
                counted = counted and not way.several and self.steps < _MOST_STEPS
                kept = frozenset(d for d in way.decisions if d.before)
                iterations = way.iterations + 1 if counted else 1
                way = way._replace(crossed=loop, several=not counted, iterations=iterations, decisions=kept)
                add(found, way, open_)
        return bounded(found)

    def behind(self, state: State, node: Loop) -> State:
        """Behind a loop: its iterations are no longer common to two accesses, nor what was decided in them."""
        found: State = {}
        for way, open_ in state.items():
            inside = {d for d in way.decisions if node.trips != 1 and node.point < d.point <= node.end_point}
            here = (
                d
                for d in way.decisions
                if isinstance(d, InIteration) and d.point == node.point and not d.before
            )
            kept = way.decisions.difference(inside, here)
            if way.crossed == node.point:
                way, kept = way._replace(crossed=None, several=False, iterations=1), before_back_edge(kept)
            add(found, way._replace(decisions=kept), open_)
        return bounded(found)

    def decided(self, state: State, point: int, arm: bool) -> State:
        found: State = {}
        for way, open_ in state.items():
            add(found, with_mark(way, NotTaken(point, arm, way.crossed is None)), open_)
        return bounded(found)


def _moved(node: CopyWait, place: int, newest: int) -> int | None:
    """The place of a copy in flight behind ``node``; None: it has landed. What did not land with its stage never does.
    ``newest``: of the stage that is committed."""
    if node.kind is CopyWaitKind.COMMIT:
        return min(place + 1, _MOST_COMMITS)
    if node.kind is CopyWaitKind.STAGE:
        return place or newest
    if node.kind is CopyWaitKind.OLDEST:
        return None if place == 1 else place
    if node.kind is CopyWaitKind.RELEASE and 0 < place < _MOST_COMMITS:
        return place - 1 or _MOST_COMMITS
    if node.kind is CopyWaitKind.UNKNOWN and node.bound != NO_OBJECT:
        return place and _MOST_COMMITS
    return place


def _trips(node: Loop) -> int:
    """Iterations of a loop that is walked iteration by iteration; 0: it is not."""
    return node.trips if node.trips is not None and 1 < node.trips <= MOST_TURNS else 0
