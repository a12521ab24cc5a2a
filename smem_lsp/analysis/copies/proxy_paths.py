"""When the asynchronous proxy is done with bytes: from the instruction that starts it to the wait that ends it.

Bulk copies out of shared memory and matrix instructions are waited for in groups of their thread (PTX ISA,
"cp.async.bulk.wait_group", "wgmma.wait_group"). A bulk copy into shared memory counts for the phase of an ``mbarrier``
in which its thread has arrived once, and has landed when a thread has waited for that phase: for its parity, or with
the token of the arrival ("mbarrier.try_wait"). All paths of one thread are followed, with what is known of variables
that words and parities are made of and of how far counters are from their bounds, and of two threads where some issue
and others wait (``roles``); what cannot be followed is in flight to the end of the kernel.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from typing import ClassVar

from smem_lsp.analysis.copies.congruences import modulus, number
from smem_lsp.analysis.copies.differences import differences, lasts
from smem_lsp.analysis.copies.live_variables import LiveVariables
from smem_lsp.analysis.copies.path_state import (
    UNCOUNTED,
    CopyInFlight,
    CopyPath,
    Numbers,
    Paths,
    Question,
    Word,
    least,
    literal,
    lose,
    merged,
    named,
    remembering,
    swapped,
    without,
)
from smem_lsp.analysis.copies.roles import Roles, assigned
from smem_lsp.ir.copy_events import OPEN, CopyEvent, Family, Groups, ProxyEvent, ProxyWait, Wait, WordPlace
from smem_lsp.ir.nodes import Access, Assignment, Branch, Jump, JumpKind, Loop, Node, Seq, walk
from smem_lsp.ir.paths import PathWalk
from smem_lsp.ir.values import Const, Op, Value, Var, parts_of, variables_of
from smem_lsp.ir.walks import Ways
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.terms.congruences import Number, widened
from smem_lsp.terms.operators import Operator
from smem_lsp.terms.zones import Zone, joined

_TELL = frozenset(
    map(Operator, ("==", "!=", "/", "%", "&", "^", ">>"))
)  # numbers that are known but for a multiple

_OF_GROUPS = (CopyEvent.COMMIT, CopyEvent.GROUPS, CopyEvent.ALL)
_OF_STAGES = (CopyEvent.EVERY_STAGE, CopyEvent.OLDER_STAGES)

_MOST_PATHS = 256
_MOST_OF_GROUPS = 32  # with no words and phases to tell apart
_MOST_TURNS = 64  # of a loop: with more, or an unknown number, its counters are known but for a multiple
_LARGEST = 64  # number of a variable that iterations of a loop change otherwise


class _TooManyPaths(Exception):
    """They are not followed."""


@dataclass(slots=True)
class Ends:
    """``over``: wait (its point) -> what was started (points) and is over there; ``left``: what may still go on at the
    end of the kernel."""

    over: Mapping[int, frozenset[int]]
    left: frozenset[int]


def ends(items: Sequence[Node], bound: Mapping[int, Groups | WordPlace]) -> Ends:
    """``bound``: where work is started (points) -> what its thread waits for."""
    if not bound:
        return Ends({}, frozenset())
    run = _ProxyWalk(bound, items)
    try:
        left = run.leaving(items, frozenset((CopyPath(),)))
    except _TooManyPaths:
        return Ends({}, frozenset(bound))
    over = {point: frozenset(issues) for point, issues in run.over_at.items()}
    return Ends(over, frozenset(flight.issue for path in left for flight in path.flights))


def _closed(values: Iterable[Value], assigns: Mapping[int, Sequence[Value]]) -> tuple[list[Value], set[int]]:
    """The values, with all that is assigned to variables in them, and these variables."""
    found: set[int] = set()
    every = list(values)
    for value in every:
        checkpoint()
        for variable in variables_of(value):
            if variable not in found:
                found.add(variable)
                every += assigns.get(variable, ())
    return every, found


def _within(node: Node) -> Iterator[Node]:
    """A node and all inside of it."""
    return walk(Seq((node,)))


def _assigns(node: Node, variables: Collection[int]) -> bool:
    """Is one of these variables assigned in there?"""
    return any(isinstance(each, Assignment) and each.variable in variables for each in _within(node))


def _told_apart_by(bound: Iterable[Groups | WordPlace], nodes: Iterable[Node]) -> list[Value]:
    """The values that tell which word, and which of its phases, work is bound to or waited for with."""
    waits = [each for each in nodes if isinstance(each, ProxyWait)]
    words = [*bound, *(each.word for each in waits)]
    values = [each[1] for each in words if isinstance(each, tuple)] + [each.parity for each in waits]
    return [each for each in values if each is not None]


def _telling_parts(conditions: Iterable[Value]) -> Iterator[Value]:
    """The parts of conditions that a number known but for a multiple tells something of."""
    for condition in conditions:
        for part in parts_of(condition):
            if isinstance(part, Op) and part.operator in _TELL:
                yield part


class _ProxyWalk(PathWalk[CopyPath]):
    """``followed``: the variables that words, parities, and the conditions of what decides them are made of;
    ``counted``: those of them that a number known but for a multiple tells something of; ``matters``: the branches and
    loops (points) in which something happens."""

    apart: ClassVar[bool] = True

    def __init__(self, bound: Mapping[int, Groups | WordPlace], items: Sequence[Node]) -> None:
        super().__init__()
        self.bound = bound
        self.groups = Family.COPIES in bound.values()
        self.pipelines = frozenset(each for each in bound.values() if isinstance(each, int))
        self.most = _MOST_OF_GROUPS if self.groups or self.pipelines else _MOST_PATHS
        self.over_at: dict[int, set[int]] = {}
        self.iterations, self.exact = (
            1,
            False,
        )  # of the loops around that are followed iteration by iteration; is this one?
        every = tuple(walk(Seq(tuple(items))))
        around = [node for node in every if isinstance(node, Branch | Loop)]
        self.matters = frozenset(node.point for node in around if self.is_eventful(node))
        self.decides = frozenset(node.point for node in around if self.is_decisive(node))
        assigns = assigned(every)
        self.roles = Roles(assigns, self.matters | {node.point for node in every if self.happens(node)})
        used, variables = _closed(_told_apart_by(bound.values(), every), assigns)
        self.modulus = modulus(used)
        conditions = [
            node.condition for node in around if node.point in self.matters or _assigns(node, variables)
        ]
        self.followed = frozenset(_closed([*used, *conditions], assigns)[1])
        self.counted = frozenset(_closed([*used, *_telling_parts(conditions)], assigns)[1])
        self.apart_by = differences([node.condition for node in around], conditions, assigns)
        self.live = LiveVariables(items, self.read_by)
        self.idle = frozenset(node.point for node in around if isinstance(node, Loop) and self.is_idle(node))

    def is_eventful(self, node: Branch | Loop) -> bool:
        """Does something happen inside?"""
        return any(map(self.happens, _within(node)))

    def is_decisive(self, node: Branch | Loop) -> bool:
        """Does more happen inside than that copies of groups and stages start?"""
        return node.point in self.matters and any(
            self.tells(each) or self.by_itself(each) for each in _within(node)
        )

    def read_by(self, node: Node) -> Iterator[int]:
        """The variables that decide what something that happens is done to."""
        place = node.word if isinstance(node, ProxyWait) else None
        if isinstance(node, Access):
            over = self.bound.get(node.point)
            place = over if isinstance(over, tuple) else None
        if place is not None and place[1] is not None:
            yield from variables_of(place[1])
        if isinstance(node, ProxyWait) and node.parity is not None:
            yield from variables_of(node.parity)

    def happens(self, node: Node) -> bool:
        return self.tells(node) or (isinstance(node, Access) and node.point in self.bound)

    def tells(self, node: Node) -> bool:
        """Does a thread make or wait for something here?"""
        if isinstance(node, Wait) and node.bound == OPEN:
            return self.groups and node.event in _OF_GROUPS and not node.guess
        if isinstance(node, Wait):
            return node.bound in self.pipelines
        return isinstance(node, ProxyWait)

    def by_itself(self, node: Node) -> bool:
        """Is work started here that may be waited for wherever another condition holds?"""
        over = self.bound.get(node.point, Family.COPIES)
        return over is not Family.COPIES and not isinstance(over, int)

    def step(self, node: Node, states: Paths) -> Paths:
        if len(states) > self.most:
            raise _TooManyPaths
        if isinstance(node, Assignment):
            concerned = node.variable in self.followed or self.apart_by.concerns(node.variable)
            if not concerned and not any(each.asked for each in states):
                return states
            return frozenset(made for each in states for made in self.assign(node, each))
        if isinstance(node, ProxyWait):
            return frozenset(self.event(node, each) for each in states)
        if isinstance(node, Wait) and self.tells(node):
            happens = self.group_event if node.bound == OPEN else self.stage_event
            return frozenset(happens(node, each) for each in states)
        if isinstance(node, Access) and node.point in self.bound:
            return frozenset(self.issue(node, each) for each in states)
        return states

    def branch(self, node: Branch, states: Paths) -> Ways[Paths]:
        found = super().branch(node, states)
        if node.point not in self.matters:
            return found
        found = Ways(*map(merged, (found.end, found.breaks, found.continues)))
        over = self.over_for_others(node, states)
        if not over:
            return found
        return Ways(*(without(each, over) for each in (found.end, found.breaks, found.continues)))

    def over_for_others(self, node: Branch, states: Paths) -> frozenset[int]:
        """What threads of one arm start, and have landed when those of the other arm have waited (points)."""
        known = {(each.phases, each.lost) for each in states}
        if len(known) != 1 or any(each.other is not None for each in states):
            return frozenset()
        ((phases, lost),) = known
        shared = frozenset.intersection(*(each.numbers for each in states))
        zone = joined(each.zone for each in states)
        none: frozenset[Question] = frozenset()
        start = CopyPath(phases, lost, numbers=shared, zone=zone, other=(shared, zone, none, frozenset()))
        over: set[int] = set()
        for issuing, both in self.roles.pairs(node):
            issues = {each.point for each in walk(issuing) if isinstance(self.bound.get(each.point), tuple)}
            if issues:
                found = self.seq(both, frozenset((start,)))
                over |= issues - {each.issue for path in found.end for each in path.flights}
        return frozenset(over)

    def loop(self, node: Loop, states: Paths) -> Paths:
        if node.point in self.idle:
            return states
        before = self.iterations, self.exact
        trips = self.most_iterations(node, states) if node.trips is None else node.trips
        starts = node.point in self.matters and node.point not in self.decides  # nothing but copies
        self.exact = trips is not None and self.iterations * trips <= _MOST_TURNS and not starts
        if self.exact:
            self.iterations *= trips or 1
        found = super().loop(node, states)
        self.iterations, self.exact = before
        live = self.live.behind[node.point]
        return frozenset(remembering(each, live) for each in found)

    def is_idle(self, node: Loop) -> bool:
        """Does a loop leave all as it is that is followed behind it?"""
        inside = tuple(walk(node.body))
        changed = self.live.behind[node.point].intersection(assigned(inside))
        return (
            node.point not in self.matters
            and changed.isdisjoint(self.followed | self.apart_by.followed)
            and not any(isinstance(each, Jump) and each.kind is JumpKind.RETURN for each in inside)
        )

    def most_iterations(self, node: Loop, states: Paths) -> int | None:
        """How many iterations a loop makes at most; None: not known."""
        counters = {
            variable
            for variable, values in assigned(node.body).items()
            if all(map(_adds, repeat(variable), values, repeat(1)))
        }
        most = [self.apart_by.iterations(each.zone, node.condition, counters) for each in states]
        known = [each for each in most if each is not None]
        return max(known, default=0) if len(known) == len(most) else None

    def heads(self, node: Loop, entered: Paths, states: Paths) -> Paths:
        if len(states) > self.most:
            raise _TooManyPaths
        assigns = assigned(walk(node.body))
        counters = {
            variable for variable, values in assigns.items() if all(map(_adds, repeat(variable), values))
        }
        others = [each.other for each in entered if each.other is not None]
        first, of_other = least(each.numbers for each in entered), least(each[0] for each in others)
        near, near_other = joined(each.zone for each in entered), joined(each[1] for each in others)
        found = set()
        for path in states:
            other = path.other
            if other is not None:
                numbers = self.kept(other[0], of_other, assigns)
                other = numbers, self.kept_zone(other[1], near_other, assigns, counters), *other[2:]
            path = remembering(path, self.live.at_iterations[node.point])
            numbers = self.kept(path.numbers, first, assigns)
            zone = self.kept_zone(path.zone, near, assigns, counters)
            found.add(replace(path, numbers=numbers, zone=zone, other=other))
        return frozenset(found)

    def kept_zone(self, zone: Zone, first: Zone, changed: Collection[int], counters: Collection[int]) -> Zone:
        return zone if self.exact else self.apart_by.kept(zone, first, changed, counters)

    def kept(
        self,
        known: Numbers,
        first: Mapping[int, Number],
        assigns: Mapping[int, Sequence[Value]],
    ) -> Numbers:
        """What is known of variables at the beginning of an iteration, one of finitely many. ``first``: what they are
        in the first iteration at least."""
        found: dict[int, Number] = {}
        for variable, each in known:
            if self.exact or variable not in assigns:
                found[variable] = each
            elif variable in first:
                counts = all(_adds(variable, value) for value in assigns[variable])
                if counts and variable not in self.counted:
                    continue
                kept = widened(each, first[variable], self.modulus) if counts else each
                if kept is not None and (counts or abs(each[0]) <= _LARGEST):
                    found[variable] = kept
        return frozenset(found.items())

    def arm(self, node: Branch, states: Paths, truth: bool) -> Paths:
        """The paths into an arm of a branch."""
        decides = node.point in self.decides
        return frozenset(
            found for each in states for found in self.refined(node.condition, each, truth, decides)
        )

    def where(self, condition: Value, states: Paths, truth: bool) -> Paths:
        return frozenset(found for each in states for found in self.refined(condition, each, truth))

    def refined(self, condition: Value, path: CopyPath, truth: bool, decides: bool = False) -> list[CopyPath]:
        """The paths on which ``condition`` is ``truth``: it may be the answer whether a phase is over. ``decides``:
        what it is matters further on."""
        known = number(condition, dict(path.numbers))
        if known is not None and not known[1]:
            return [path] if bool(known[0]) is truth else []
        if isinstance(condition, Op):
            if condition.operator is Operator.NOT:
                return self.refined(condition.args[0], path, not truth, decides)
            if condition.operator in (Operator.AND, Operator.OR):
                both, (one, other) = condition.operator is Operator.AND, condition.args
                found = [] if truth is both else self.refined(one, path, truth, decides)
                for each in self.refined(one, path, both, decides):
                    found += self.refined(other, each, truth, decides)
                return found
        value, inverted = literal(condition)
        question = next((each for each in path.asked if each.value == value), None)
        if question is not None:
            path = path.unasked(question.word)
            if truth != (inverted != question.inverted):
                path = self.over(path, question.word, question.point)
        apart = self.compared(condition, path, truth) if isinstance(condition, Op) else None
        if apart is not None:
            return apart
        if not decides or not lasts(condition):
            return [path]
        decided = path.decided | {(condition, truth)}
        return [] if (condition, not truth) in path.decided else [replace(path, decided=decided)]

    def compared(self, condition: Op, path: CopyPath, truth: bool) -> list[CopyPath] | None:
        """The paths on which a comparison is ``truth``; None: it is not followed."""
        found: list[CopyPath] = []
        for each, sides in self.chosen(condition.args, path):
            zones = self.apart_by.where(each.zone, replace(condition, args=sides), truth)
            if zones is None:
                return None
            found += (replace(each, zone=zone) for zone in zones)
        return found

    def chosen(self, values: Sequence[Value], path: CopyPath) -> Iterator[tuple[CopyPath, tuple[Value, ...]]]:
        """The paths on which it is known which of two each value is."""
        if not values:
            yield path, ()
            return
        value, *rest = values
        ways = [(path, value)]
        if isinstance(value, Op) and self.apart_by.chooses(value):
            *condition, one, other = value.args
            limit = Operator.LESS_EQUAL if value.operator is Operator.MIN else Operator.GREATER_EQUAL
            decides = condition[0] if condition else replace(value, operator=limit)
            ways = [
                way
                for choice, truth in ((one, True), (other, False))
                for each in self.refined(decides, path, truth)
                for way in ((made, given[0]) for made, given in self.chosen((choice,), each))
            ]
        for each, value in ways:
            for made, behind in self.chosen(rest, each):
                yield made, (value, *behind)

    def assign(self, node: Assignment, path: CopyPath) -> Iterator[CopyPath]:
        variable = node.variable
        decided = frozenset(each for each in path.decided if variable not in variables_of(each[0]))
        if len(decided) < len(path.decided):
            path = replace(path, decided=decided)
        if path.asked:
            path = replace(path, asked=frozenset(named(path.asked, node)))
        given: Iterable[tuple[CopyPath, tuple[Value, ...]]] = [(path, (node.value,))]
        if variable in self.apart_by.followed:
            given = self.chosen((node.value,), path)
        for each, (made,) in given:
            zone = self.apart_by.assigned(each.zone, variable, made)
            numbers = self.numbered(each.numbers, variable, made)
            same = zone == each.zone and numbers == each.numbers
            yield each if same else replace(each, zone=zone, numbers=numbers)

    def numbered(self, numbers: Numbers, variable: int, value: Value) -> Numbers:
        """What is known of variables behind an assignment."""
        if variable not in self.followed:
            return numbers
        known = dict(numbers)
        of_it = number(value, known)
        known.pop(variable, None)
        if of_it is not None:
            known[variable] = of_it
        return frozenset(known.items())

    def issue(self, node: Access, path: CopyPath) -> CopyPath:
        over = self.bound[node.point]
        by = self.word(over, path) if isinstance(over, tuple) else over
        if isinstance(by, tuple):
            _, arrivals, expects = path.phase(by)
            by = by if expects or not arrivals else None  # the phase may be over before the copy
        return replace(path, flights=path.flights | {CopyInFlight(node.point, by)})

    def word(self, place: WordPlace, path: CopyPath) -> Word | None:
        buffer, at = place
        known = None if at is None else number(at, dict(path.numbers))
        return None if known is None or known[1] or buffer in path.lost else (buffer, known[0])

    def event(self, node: ProxyWait, path: CopyPath) -> CopyPath:
        if node.event is ProxyEvent.OTHER:
            return swapped(path)
        if path.other is not None and node.event in (ProxyEvent.COMMIT, ProxyEvent.GROUPS):
            return path  # each thread has groups of its own
        if node.event is ProxyEvent.COMMIT:
            return path.committed(node.family)
        if node.event is ProxyEvent.GROUPS:
            return self.groups_over(path, node.point, node.family, node.left)
        assert node.word is not None
        word = self.word(node.word, path)
        if word is None or node.event is ProxyEvent.LOST:
            return lose(path, node.word[0])
        parity, arrivals, expects = path.phase(word)
        if node.event is ProxyEvent.EXPECT:
            return path.at(word, parity, arrivals, expects=expects or not arrivals)
        if node.event is ProxyEvent.ARRIVE:
            return path.at(word, parity, min(arrivals + 1, 2), expects=expects)
        asked = (parity, 0) if node.parity is None else number(node.parity, dict(path.numbers))
        if asked is None or asked[1] % 2 or any(each.word == word for each in path.asked):
            return lose(path, word[0])  # it may be the next phase that the thread waits for from now on
        if asked[0] & 1 != parity:
            return path  # the phase before is over
        if node.event is ProxyEvent.PHASE:
            return self.over(path, word, node.point)
        assert node.answer is not None
        return replace(path, asked=path.asked | {Question(node.answer, word, node.point)})

    def group_event(self, node: Wait, path: CopyPath) -> CopyPath:
        if node.event is CopyEvent.COMMIT:
            return path.committed(Family.COPIES)
        left = -1 if node.event is CopyEvent.ALL else node.left
        return self.groups_over(path, node.point, Family.COPIES, left)

    def stage_event(self, node: Wait, path: CopyPath) -> CopyPath:
        """What a thread does with a pipeline. In front of a wait for a stage all those are done that are older, too:
        copies of a thread land in the order of their groups (CCCL, cuda/pipeline)."""
        count, event = path.under_way(node.bound), CopyEvent.UNCOUNTED if node.guess else node.event
        if event in _OF_STAGES:
            found = self.groups_over(path, node.point, node.bound, node.left)
            return found.with_stages(node.bound, node.left)
        if event is CopyEvent.STAGE:
            path, count = path.committed(node.bound), count if count == UNCOUNTED else count + 1
        elif event is CopyEvent.STAGE_DONE:
            return self.groups_over(path, node.point, node.bound, count - 1) if count > 0 else path
        elif event is CopyEvent.RELEASE:
            count -= count > 0
        else:
            count = UNCOUNTED
        return path.with_stages(node.bound, count)

    def groups_over(self, path: CopyPath, point: int, of: Groups, left: int) -> CopyPath:
        """All groups but the ``left`` newest are done; -1: what is in no group yet, too."""
        over = {each for each in path.flights if each.by == of and each.age > left}
        self.over_at.setdefault(point, set()).update(each.issue for each in over)
        return replace(path, flights=path.flights - over)

    def over(self, path: CopyPath, word: Word, point: int) -> CopyPath:
        """The phase of a word is over that the thread waits for at ``point``."""
        parity, arrivals, _ = path.phase(word)
        if arrivals > 1:
            return lose(path, word[0])
        over = {each for each in path.flights if each.by == word} if arrivals else set()
        self.over_at.setdefault(point, set()).update(each.issue for each in over)
        return replace(path, flights=path.flights - over).at(word, 1 - parity)


def _adds(variable: int, value: Value, least: int = 0) -> bool:
    """Is it the variable and a number of ``least`` or more, none of them negative?"""
    return (
        isinstance(value, Op)
        and value.operator is Operator.ADD
        and Var(variable) in value.args
        and any(isinstance(each, Const) and each.n >= least for each in value.args)
    )
