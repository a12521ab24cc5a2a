"""Along which ways two accesses of a kernel fall into one barrier interval.

An access stays *open* until a barrier that orders it. The walk follows every path of the region tree with the set of
open accesses. Beside each open access stands how its path led here: within one turn of every loop around both, over a
back edge, or past loops and arms that hold a barrier and were not taken.

An asynchronous copy is a thread of its own from its issue to the wait of the thread that issued it: no barrier orders
it. How many groups its thread has committed since stands beside it; the wait that covers it makes it an access like any
other, which the next barrier orders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from smem_lsp.ir.nodes import (
    NO_OBJECT,
    Access,
    Barrier,
    Branch,
    CopyWait,
    CopyWaitKind,
    Jump,
    JumpKind,
    Loop,
    Node,
    Place,
    Seq,
)
from smem_lsp.source import checkpoint, record

_MOST_WAYS = 64  # kept apart at one point; beyond, what was not taken is forgotten
_MOST_ROUNDS = 6  # through a loop, with what was decided kept apart
_MOST_NOT_TAKEN = 3  # decisions that one way remembers
ALL_COPIES = -1  # groups that a wait leaves open which covers copies of no group, too
_MOST_COMMITS = 8  # of a thread that are counted while a copy is in flight
_MOST_TURNS = 8  # of a loop that are counted meanwhile
_MOST_STEPS = 10_000  # nodes by ways: beyond, neither turns nor what was decided are kept apart


class NotTaken(NamedTuple):
    """A block-uniform decision on a way: the loop at ``point`` ran no turn, or its branch went ``arm``. ``before``: it
    was taken in the turn of the first access, else in that of the second."""

    point: int
    arm: bool
    before: bool


@record
class InTurn:
    """The second access stands in this turn (from 0 on) of the loop at ``point``, which was entered on the way; the
    first one (``before``), of a loop that was walked turn by turn."""

    point: int
    number: int = 0
    before: bool = False


@record
class LastTurn:
    """The first access stands in the last turn of the loop at ``point``, which its condition ends."""

    point: int

    @property
    def before(self) -> bool:
        return True


Mark = NotTaken | InTurn | LastTurn


class Flight(NamedTuple):
    """A copy for which its thread has not waited. ``bound``: the object that it is bound to, as in ``CopyWait``;
    ``place``: of its group among those of the thread, the newest 1, or of its stage of a pipeline among those under
    way, the oldest 1; 0: it belongs to none yet."""

    bound: int = NO_OBJECT
    place: int = 0


class Way(NamedTuple):
    """How a second access follows a first one. ``crossed``: the outermost loop (point) whose back edge lies between,
    ``turns`` times; None: both belong to one turn of every loop around them. ``several``: perhaps more often;
    ``flight``: the first is a copy for which its thread has not waited."""

    crossed: int | None = None
    several: bool = False
    decisions: frozenset[Mark] = frozenset()
    turns: int = 1
    flight: Flight | None = None

    @property
    def widest(self) -> Way:
        """The same, whatever was decided on it, and however often the loop was crossed."""
        return self._replace(several=self.crossed is not None, decisions=frozenset(), turns=1)


SAME_TURN = Way()
Pair = tuple[int, int]  # points of two accesses
_State = dict[Way, int]  # open accesses, as bits


@record
class Ordering:
    """What orders accesses. ``clears``: points of barriers, or of places where one is added, behind which nothing is
    open but copies in flight, and of waits behind which none of these are; ``uniform``: branches, loops and jumps that
    all threads of the block take alike; ``calls``: points, rising, from which on nothing that was open counts any more;
    ``waits``: those of them that may let one thread after the other through; ``covering``: waits for copies (points)
    that leave another number of groups open, or that are added at a place."""

    clears: frozenset[int]
    uniform: frozenset[int]
    calls: tuple[int, ...] = ()
    waits: frozenset[int] = frozenset()
    covering: frozenset[tuple[int, int]] = frozenset()


def ways_between(
    body: Seq, accesses: Sequence[Access], interfering: Sequence[int], ordering: Ordering
) -> dict[Pair, frozenset[Way]]:
    """For each two accesses that may come one after the other with no barrier between, or beside one another in the
    arms of a divergent branch, and that interfere (bit i of ``interfering``: the i-th of ``accesses``): the ways. An
    access meets itself in another thread within the same turn."""
    index_of = {access.point: index for index, access in enumerate(accesses)}
    found = _Walk(ordering, index_of, interfering, copying=any(access.asynchronous for access in accesses))
    found.seq(body, {}, 0)
    points = [access.point for access in accesses]
    return {(points[first], points[second]): frozenset(ways) for (first, second), ways in found.hits.items()}


@dataclass(slots=True)
class _Leaving:
    breaks: _State = field(default_factory=dict)
    continues: _State = field(default_factory=dict)


@dataclass(slots=True)
class _Walk:
    ordering: Ordering
    index_of: Mapping[int, int]
    interfering: Sequence[int]
    hits: dict[Pair, set[Way]] = field(default_factory=dict)
    called: int = 0  # of ``ordering.calls``: how many the walk has come by
    crossing: list[int] = field(default_factory=list)  # loops around
    _summaries: dict[int, _Summary] = field(default_factory=dict)  # by the nodes (id)
    _met: dict[int, tuple[Node, ...]] = field(default_factory=dict)  # by the nodes (id)
    copying: bool = False
    covering: dict[int, int] = field(init=False)
    steps: int = 0

    def __post_init__(self) -> None:
        self.covering = dict(self.ordering.covering)

    def seq(self, body: Seq, state: _State, beside: int) -> tuple[_State, _Leaving]:
        """Open accesses at the end. ``beside``: what other threads do meanwhile."""
        left = _Leaving()
        for node in self.met(body):
            checkpoint()
            self.steps += self.copying and len(state)
            if self.ordering.calls:
                state = self.called_before(node.point, state)
            if isinstance(node, Access):
                self.access(node, state, beside)
                opened = Way(flight=Flight(node.bound)) if node.asynchronous else SAME_TURN
                state = _with(state, opened, self.bit(node))
            elif isinstance(node, Barrier | Place):
                if node.point in self.covering:
                    state = self.landed(state, NO_OBJECT, self.covering[node.point])
                if node.point in self.ordering.clears:
                    state = _in_flight(state)
            elif isinstance(node, CopyWait):
                state = self.waited_for(node, state)
            elif isinstance(node, Branch):
                if self.matters(node):
                    state = self.branch(node, state, beside, left)
            elif isinstance(node, Loop):
                if self.matters(node):
                    state = self.loop(node, state, beside)
            elif isinstance(node, Jump):
                if node.kind is JumpKind.BREAK:
                    left.breaks = _joined(left.breaks, state)
                elif node.kind is JumpKind.CONTINUE:
                    left.continues = _joined(left.continues, state)
                if node.point in self.ordering.uniform:
                    state = {}  # else others go on, with everything still open
        return state, left

    def met(self, body: Seq) -> Sequence[Node]:
        """The nodes that matter, found once: a loop is walked several times. Before a call all of them do."""
        if self.ordering.calls:
            return body.items
        found = self._met.get(id(body))
        if found is None:
            found = self._met[id(body)] = tuple(filter(self.matters, body.items))
        return found

    def called_before(self, point: int, state: _State) -> _State:
        calls = self.ordering.calls
        if any(call <= point and call > self.called for call in calls):
            passed = [call for call in calls if self.called < call <= point]
            self.called = passed[-1]
            return {SAME_TURN: self.waited} if not self.ordering.waits.isdisjoint(passed) else {}
        return state

    @property
    def waited(self) -> int:
        """The bit that stands for a wait since the last barrier."""
        return 1 << len(self.index_of)

    @property
    def stage(self) -> int:
        """The bit that stands for a stage of a pipeline, be there copies in it or not."""
        return 1 << len(self.index_of) + 1

    def bit(self, access: Access) -> int:
        index = self.index_of.get(access.point)
        return 0 if index is None else 1 << index

    def access(self, node: Access, state: _State, beside: int) -> None:
        index = self.index_of.get(node.point)
        if index is None:
            return
        mask = self.interfering[index]
        for way, open_ in state.items():
            self.hit(open_ & mask, index, way)
        if not any(open_ & self.waited for open_ in state.values()):
            self.hit((beside | 1 << index) & mask, index, SAME_TURN)

    def waited_for(self, node: CopyWait, state: _State) -> _State:
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
        found: _State = {}
        for way, open_ in state.items():
            if way.flight is None or way.flight.bound != node.bound:
                _add(found, way, open_)
                continue
            place = way.flight.place
            stages, copies = open_ & self.stage, open_ & ~self.stage
            moved = _moved(node, place, newest)
            _add(found, way._replace(flight=None if moved is None else Flight(node.bound, moved)), copies)
            if node.kind is CopyWaitKind.RELEASE and place == 1:
                continue
            # a stage is under way until it is released
            _add(found, way._replace(flight=Flight(node.bound, place if moved is None else moved)), stages)
        if node.kind is CopyWaitKind.STAGE:
            _add(found, Way(flight=Flight(node.bound, newest)), self.stage)
        elif node.kind is CopyWaitKind.UNKNOWN and node.bound != NO_OBJECT:
            _add(found, Way(flight=Flight(node.bound, _MOST_COMMITS)), self.stage)
        return _bounded(found)

    def landed(self, state: _State, bound: int, left: int) -> _State:
        """Behind a wait for all but the ``left`` newest groups of a thread."""
        found: _State = {}
        for way, open_ in state.items():
            if way.flight is not None and way.flight.bound == bound and way.flight.place > left:
                way, open_ = way._replace(flight=None), open_ & ~self.stage
            _add(found, way, open_)
        return _bounded(found)

    def hit(self, earlier: int, later: int, way: Way) -> None:
        if way.flight is not None:
            way = way._replace(flight=Flight())
        while earlier:
            bit = earlier & -earlier
            self.hits.setdefault((bit.bit_length() - 1, later), set()).add(way)
            earlier ^= bit

    def branch(self, node: Branch, state: _State, beside: int, left: _Leaving) -> _State:
        uniform = node.point in self.ordering.uniform
        told = uniform and self.orders(node)
        arms = ((node.then, True), (node.otherwise, False))
        inside = (0, 0) if uniform else tuple(self.summary(arm).accesses for arm, _ in arms)
        ends: list[_State] = []
        called = self.called
        for (arm, way), other in zip(arms, reversed(inside)):
            if way or not node.then.items:
                self.called = called
            else:
                last = self.summary(node.then).last
                self.called = max((call for call in self.ordering.calls if call <= last), default=called)
            start = self.decided(state, node.point, way) if told else state
            end, jumps = self.seq(arm, start, beside | other)
            left.breaks = _joined(left.breaks, jumps.breaks)
            left.continues = _joined(left.continues, jumps.continues)
            ends.append(end)
        if uniform:
            return _joined(_joined({}, ends[0]), ends[1])
        # a thread that jumped away leaves the others behind with all that is open
        jumped = any(self.summary(arm).jumps for arm, _ in arms)
        left_open = state if jumped else {way: open_ for way, open_ in state.items() if way.flight is None}
        return _joined(_joined(left_open, ends[0]), ends[1])

    def loop(self, node: Loop, state: _State, beside: int) -> _State:
        told = node.point in self.ordering.uniform and self.orders(node)
        skipped = node.min_trip == 0
        leaves = (self.decided(state, node.point, False) if told else state) if skipped else {}
        once = node.trips == 1
        mine = self.summary(node.body).accesses
        self.crossing.append(node.point)
        called = self.called
        counted = not once and self.orders(node)
        if counted:
            state = _marked(state, InTurn(node.point))
        in_turns = not once and self.summary(node.body).waits and self.steps < _MOST_STEPS
        if in_turns and _trips(node):
            out = self.in_turns(node, state, beside)
            self.crossing.pop()
            return self.behind(out, node)
        for turn in count():
            checkpoint()
            self.called = called
            end, left = self.seq(node.body, state, beside)
            end = _joined(end, left.continues)
            if once:
                break
            around = _joined(state, self.back(end, node.point, mine))
            if around == state:
                break
            most = _MOST_ROUNDS + (_MOST_COMMITS if self.summary(node.body).waits else 0)
            state = around if turn < most and self.steps < _MOST_STEPS else _plain(around)
        self.crossing.pop()
        if counted and node.point in self.ordering.uniform:
            end = _ending(end, LastTurn(node.point), mine)
        out = _joined(_joined(leaves, end), left.breaks)
        return self.behind(out, node)

    def in_turns(self, node: Loop, state: _State, beside: int) -> _State:
        """Behind a loop of few turns, walked one by one: in which turn a copy was issued says when it has landed."""
        mine, called = self.summary(node.body).accesses, self.called
        out: _State = {}
        for turn in range(_trips(node)):
            checkpoint()
            self.called = called
            end, left = self.seq(node.body, state, beside)
            mark = InTurn(node.point, turn, before=True)
            end = _ending(_joined(end, left.continues), mark, mine)
            out = _joined(out, _ending(left.breaks, mark, mine))
            state = self.back(end, node.point, mine)
        return _joined(out, end)

    def back(self, end: _State, loop: int, mine: int) -> _State:
        """What is open at the end of a turn, at the start of the next one."""
        outer = self.crossing[:-1]
        found: _State = {}
        for way, open_ in end.items():
            way = _one_turn_on(way, loop)
            if way.crossed is None:
                crossed = open_ & mine
                _add(found, way._replace(crossed=loop, turns=1, decisions=_first(way.decisions)), crossed)
                _add(found, way, open_ & ~mine)
            elif way.crossed in outer:
                _add(found, way, open_)
            else:
                counted = way.crossed == loop and way.flight is not None and way.turns < _MOST_TURNS
                counted = counted and not way.several and self.steps < _MOST_STEPS
                kept = frozenset(d for d in way.decisions if d.before)
                turns = way.turns + 1 if counted else 1
                way = way._replace(crossed=loop, several=not counted, turns=turns, decisions=kept)
                _add(found, way, open_)
        return _bounded(found)

    def behind(self, state: _State, node: Loop) -> _State:
        """Behind a loop: its turns are no longer common to two accesses, nor what was decided in them."""
        found: _State = {}
        for way, open_ in state.items():
            inside = (d for d in way.decisions if node.point < d.point <= node.end_point)
            here = (
                d for d in way.decisions if isinstance(d, InTurn) and d.point == node.point and not d.before
            )
            kept = way.decisions.difference(inside, here)
            if way.crossed == node.point:
                way, kept = way._replace(crossed=None, several=False, turns=1), _first(kept)
            _add(found, way._replace(decisions=kept), open_)
        return _bounded(found)

    def decided(self, state: _State, point: int, arm: bool) -> _State:
        found: _State = {}
        for way, open_ in state.items():
            _add(found, _with_mark(way, NotTaken(point, arm, way.crossed is None)), open_)
        return _bounded(found)

    def summary(self, seq: Seq) -> _Summary:
        """What is in it, worked out once."""
        found = self._summaries.get(id(seq))
        if found is None:
            accesses, orders, jumps, waits, last = 0, False, False, False, -1
            for node in seq.items:
                last = max(last, node.point)
                if isinstance(node, Access):
                    accesses |= self.bit(node)
                elif isinstance(node, Barrier | Place):
                    orders = orders or node.point in self.ordering.clears
                    waits = waits or (self.copying and node.point in self.covering)
                elif isinstance(node, CopyWait):
                    waits = waits or self.copying
                elif isinstance(node, Jump):
                    jumps = True
                elif isinstance(node, Branch | Loop):
                    for inner in map(self.summary, _arms(node)):
                        accesses |= inner.accesses
                        orders = orders or inner.orders
                        jumps = jumps or inner.jumps
                        waits = waits or inner.waits
                        last = max(last, inner.last)
            found = self._summaries[id(seq)] = _Summary(accesses, orders, jumps, waits, last)
        return found

    def matters(self, node: Node) -> bool:
        """May it change which accesses are open, or meet some?"""
        if isinstance(node, Access):
            return node.point in self.index_of
        if isinstance(node, Barrier | Place):
            return node.point in self.ordering.clears or node.point in self.covering
        if isinstance(node, CopyWait):
            return self.copying
        if not isinstance(node, Branch | Loop):
            return isinstance(node, Jump)
        found = [self.summary(arm) for arm in _arms(node)]
        if any(each.accesses or each.orders or each.jumps or each.waits for each in found):
            return True
        last = node.end_point if isinstance(node, Loop) else max(each.last for each in found)
        return any(node.point < call <= last for call in self.ordering.calls)

    def orders(self, node: Branch | Loop) -> bool:
        """Does it hold something that orders accesses, or tells when a copy has landed?"""
        return any(each.orders or each.waits for each in map(self.summary, _arms(node)))


@record
class _Summary:
    """Of some nodes: their accesses, as bits; whether anything orders accesses, jumps, or commits copies or waits for
    them; their last point."""

    accesses: int
    orders: bool
    jumps: bool
    waits: bool
    last: int


def _arms(node: Branch | Loop) -> tuple[Seq, ...]:
    return (node.body,) if isinstance(node, Loop) else (node.then, node.otherwise)


def _first(decisions: frozenset[Mark]) -> frozenset[Mark]:
    """The same once the back edge is crossed: they belong to the turn before."""
    return frozenset(NotTaken(d.point, d.arm, True) if isinstance(d, NotTaken) else d for d in decisions)


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


def _in_flight(state: _State) -> _State:
    return {way: open_ for way, open_ in state.items() if way.flight is not None}


def _trips(node: Loop) -> int:
    """Turns of a loop that is walked turn by turn; 0: it is not."""
    return node.trips if node.trips is not None and 1 < node.trips <= _MOST_TURNS else 0


def _with_mark(way: Way, mark: Mark) -> Way:
    tells_turn = way.flight is not None and isinstance(mark, InTurn)
    if (len(way.decisions) >= _MOST_NOT_TAKEN and not tells_turn) or way.several:
        return way
    return way._replace(decisions=way.decisions | {mark})


def _one_turn_on(way: Way, loop: int) -> Way:
    """The same in the next turn of a loop that was entered on the way. It is known of copies in flight."""
    for mark in way.decisions:
        if isinstance(mark, InTurn) and mark.point == loop and not mark.before:
            kept = way.decisions - {mark}
            if way.flight is not None and mark.number < _MOST_TURNS:
                kept |= {InTurn(loop, mark.number + 1)}
            return way._replace(decisions=kept)
    return way


def _marked(state: _State, mark: Mark) -> _State:
    found: _State = {}
    for way, open_ in state.items():
        _add(found, _with_mark(way, mark), open_)
    return _bounded(found)


def _ending(end: _State, mark: Mark, mine: int) -> _State:
    """At the end of a turn of a loop: what it has opened itself is marked. ``mine``: accesses of the loop."""
    found: _State = {}
    for way, open_ in end.items():
        if way.crossed is None:
            _add(found, _with_mark(way, mark), open_ & mine)
            _add(found, way, open_ & ~mine)
        else:
            _add(found, way, open_)
    return _bounded(found)


def _add(state: _State, way: Way, open_: int) -> None:
    if open_:
        state[way] = state.get(way, 0) | open_


def _with(state: _State, way: Way, bit: int) -> _State:
    return state if not bit else {**state, way: state.get(way, 0) | bit}


def _joined(one: _State, other: _State) -> _State:
    if not other or one is other:
        return one
    found = dict(one)
    for way, open_ in other.items():
        _add(found, way, open_)
    return _bounded(found)


def _bounded(state: _State) -> _State:
    """A way with decisions needs no mention where the same accesses come along without; and not too many."""
    if len(state) == 1 or not any(way.decisions for way in state):
        return state  # the others are one for each loop
    found: _State = {}
    for way, open_ in state.items():
        plain = state.get(way._replace(decisions=frozenset()), 0) if way.decisions else 0
        _add(found, way, open_ & ~plain)
    if len(found) <= _MOST_WAYS:
        return found
    return _plain(found)


def _plain(state: _State) -> _State:
    """The same without what was decided on the way."""
    found: _State = {}
    for way, open_ in state.items():
        _add(found, way._replace(decisions=frozenset()), open_)
    return found
