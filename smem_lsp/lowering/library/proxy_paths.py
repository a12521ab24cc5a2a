"""When the asynchronous proxy is done with bytes: from the instruction that starts it to the wait that ends it.

Bulk copies out of shared memory and matrix instructions are waited for in groups of their thread (PTX ISA,
"cp.async.bulk.wait_group", "wgmma.wait_group"). A bulk copy into shared memory counts for the phase of an ``mbarrier``
in which its thread has arrived once, and has landed when the thread has waited for that phase: for its parity, or with
the token of the arrival ("mbarrier.try_wait"). All paths of one thread are followed, with the parities that the
variables hold on each; what cannot be followed is in flight to the end of the kernel.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import NamedTuple

from smem_lsp.ir.nodes import (
    Access,
    Assign,
    Branch,
    Jump,
    JumpKind,
    Loop,
    Node,
    Seq,
    walk,
)
from smem_lsp.ir.values import READS, Const, Op, Operator, Sym, Thread, Unknown, Value, Var, computed
from smem_lsp.lowering.state.copies import Family, ProxyEvent, ProxyWait, WordPlace
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass

_ARITHMETIC = READS | set(map(Operator, ("+", "-", "*", "&", "|", "^", "<<", "&&", "||", "!", "~", "neg")))

_OF_BITS = frozenset(map(Operator, ("%", "*", "&", "|", "^", "+", "-", "!", "~", "==", "!=", "cast")))

_MOST_PATHS = 128
_OLDEST = 9  # groups: an older one is as old as this


_Word = tuple[int, int]  # its buffer, and bytes from its start


class _Flight(NamedTuple):
    issue: int  # its point
    by: Family | _Word | None  # what waits for it; None: not known
    age: int = 0  # groups that were committed since, its own included


class _Question(NamedTuple):
    """Is the phase of a word over? It is where the value is true, or false where ``inverted``."""

    value: Unknown | int  # a variable by its number
    word: _Word
    point: int
    inverted: bool = False


@dataclass(frozen=True, slots=True)
class _Path:
    """``phases``: parity of the phase that the thread waits for next, how often it has arrived in it, and whether that
    expects bytes of copies; ``bits``: the lowest bits of variables; ``exact``: variables as numbers; ``decided``:
    conditions that hold on it."""

    phases: frozenset[tuple[_Word, int, int, bool]] = frozenset()
    lost: frozenset[int] = frozenset()  # buffers with words that are not followed
    bits: frozenset[tuple[int, int]] = frozenset()
    exact: frozenset[tuple[int, int]] = frozenset()
    flights: frozenset[_Flight] = frozenset()
    asked: frozenset[_Question] = frozenset()
    decided: frozenset[tuple[Value, bool]] = frozenset()

    def phase(self, word: _Word) -> tuple[int, int, bool]:
        return next((each[1:] for each in self.phases if each[0] == word), (0, 0, False))

    def at(self, word: _Word, parity: int, arrivals: int = 0, *, expects: bool = False) -> _Path:
        rest = frozenset(each for each in self.phases if each[0] != word)
        return replace(self, phases=rest | {(word, parity, arrivals, expects)})

    def unasked(self, word: _Word) -> _Path:
        """Nothing is asked of a word any more."""
        return replace(self, asked=frozenset(each for each in self.asked if each.word != word))


_Paths = frozenset[_Path]
_NONE: _Paths = frozenset()


class _TooManyPaths(Exception):
    """They are not followed."""


@dataclass(slots=True)
class Ends:
    """``over``: wait (its point) -> what was started (points) and is over there; ``left``: what may still go on at the
    end of the kernel."""

    over: Mapping[int, frozenset[int]]
    left: frozenset[int]


def ends(items: Sequence[Node], bound: Mapping[int, Family | WordPlace]) -> Ends:
    """``bound``: where work is started (points) -> what its thread waits for."""
    every = tuple(walk(Seq(tuple(items))))
    run = _Walk(bound, *_variables(every, bound), _matters(every, bound))
    try:
        end, breaks, continues = run.seq(items, frozenset((_Path(),)))
    except _TooManyPaths:
        return Ends({}, frozenset(bound))
    left = {flight.issue for path in end | breaks | continues | run.returned for flight in path.flights}
    return Ends({point: frozenset(issues) for point, issues in run.over_at.items()}, frozenset(left))


def _matters(every: Iterable[Node], bound: Mapping[int, object]) -> frozenset[int]:
    """The branches (points) that something happens in."""
    return frozenset(
        node.point
        for node in every
        if isinstance(node, Branch)
        and any(isinstance(each, ProxyWait) or each.point in bound for each in walk(Seq((node,))))
    )


def _variables(
    every: Sequence[Node], bound: Mapping[int, Family | WordPlace]
) -> tuple[frozenset[int], frozenset[int]]:
    """The variables that parities are made of, and those that places of words are."""
    places = [each for each in bound.values() if isinstance(each, tuple)]
    waits = [each for each in every if isinstance(each, ProxyWait)]
    places += [each.word for each in waits if each.word is not None]
    assigns: dict[int, list[Value]] = {}
    for node in every:
        if isinstance(node, Assign):
            assigns.setdefault(node.variable, []).append(node.value)
    return _closed((each.parity for each in waits), assigns), _closed((at for _, at in places), assigns)


def _closed(values: Iterable[Value | None], assigns: Mapping[int, Sequence[Value]]) -> frozenset[int]:
    found: set[int] = set()
    left = [each for each in values if each is not None]
    while left:
        checkpoint()
        for variable in _variables_of(left.pop()):
            if variable not in found:
                found.add(variable)
                left += assigns.get(variable, ())
    return frozenset(found)


def _variables_of(value: Value) -> Iterator[int]:
    if isinstance(value, Var):
        yield value.index
    elif isinstance(value, Op):
        for each in value.args:
            yield from _variables_of(each)


@dataclass(slots=True)
class _Walk:
    bound: Mapping[int, Family | WordPlace]
    of_parities: frozenset[int]
    of_places: frozenset[int]
    matters: frozenset[int]
    over_at: dict[int, set[int]] = field(default_factory=dict)
    returned: _Paths = _NONE

    def seq(self, nodes: Iterable[Node], paths: _Paths) -> tuple[_Paths, _Paths, _Paths]:
        """The paths at the end, at the breaks and at the continues."""
        breaks = continues = _NONE
        for node in nodes:
            checkpoint()
            if len(paths) > _MOST_PATHS:
                raise _TooManyPaths
            if isinstance(node, Assign):
                paths = frozenset(self.assign(node, each) for each in paths)
            elif isinstance(node, ProxyWait):
                paths = frozenset(self.event(node, each) for each in paths)
            elif isinstance(node, Access) and node.point in self.bound:
                paths = frozenset(self.issue(node, each) for each in paths)
            elif isinstance(node, Branch):
                then = self.seq(node.then, self.taken(node, paths, True))
                other = self.seq(node.otherwise, self.taken(node, paths, False))
                paths = then[0] | other[0]
                breaks |= then[1] | other[1]
                continues |= then[2] | other[2]
            elif isinstance(node, Loop):
                paths = self.loop(node, paths)
            elif isinstance(node, Jump):
                if node.kind is JumpKind.BREAK:
                    breaks |= paths
                elif node.kind is JumpKind.CONTINUE:
                    continues |= paths
                else:
                    self.returned |= paths
                paths = _NONE
        return paths, breaks, continues

    def loop(self, node: Loop, paths: _Paths) -> _Paths:
        once = node.trips == 1 and node.min_trip == 1
        again = node.condition if node.again is None else node.again
        after = self.answered(node.condition, paths, False) if node.min_trip == 0 else _NONE
        changed = frozenset(each.variable for each in walk(node.body) if isinstance(each, Assign))
        tail = len(node.body) - node.tail
        new = paths if node.late or once else self.answered(node.condition, paths, True)
        seen = new
        while new:
            end, breaks, continues = self.seq(node.body.items[:tail], new)
            end, _, _ = self.seq(node.body.items[tail:], end | continues)
            after |= breaks | (end if once else self.answered(again, end, False))
            around = _NONE if once else self.answered(again, end, True)
            new = frozenset(_steady(each, changed, paths) for each in around) - seen
            seen |= new
            if len(seen) > _MOST_PATHS:
                raise _TooManyPaths
        return after

    def taken(self, node: Branch, paths: _Paths, truth: bool) -> _Paths:
        """The paths into an arm of a branch."""
        paths = self.answered(node.condition, paths, truth)
        if node.point not in self.matters or not _lasts(node.condition):
            return paths
        decided = (node.condition, truth)
        contrary = (node.condition, not truth)
        return frozenset(
            replace(each, decided=each.decided | {decided}) for each in paths if contrary not in each.decided
        )

    def answered(self, condition: Value, paths: _Paths, truth: bool) -> _Paths:
        """``paths`` where ``condition`` is ``truth``: it may be the answer whether a phase is over."""
        if isinstance(condition, Const):
            return paths if bool(condition.n) is truth else _NONE
        value, inverted = _literal(condition)
        found: set[_Path] = set()
        for path in paths:
            question = next((each for each in path.asked if each.value == value), None)
            if question is not None:
                path = path.unasked(question.word)
                if truth != (inverted != question.inverted):
                    path = self.over(path, question.word, question.point)
            found.add(path)
        return frozenset(found)

    def assign(self, node: Assign, path: _Path) -> _Path:
        variable = node.variable
        path = replace(
            path,
            decided=frozenset(each for each in path.decided if variable not in _variables_of(each[0])),
            asked=frozenset(each for each in path.asked if each.value != variable),
        )
        value, inverted = _literal(node.value)
        for question in path.asked:
            if question.value == value:
                named = question._replace(value=variable, inverted=inverted != question.inverted)
                path = replace(path, asked=path.asked | {named})
        if variable in self.of_parities:
            path = replace(path, bits=_with(path.bits, variable, _bit(node.value, dict(path.bits))))
        if variable in self.of_places:
            path = replace(path, exact=_with(path.exact, variable, _number(node.value, dict(path.exact))))
        return path

    def issue(self, node: Access, path: _Path) -> _Path:
        over = self.bound[node.point]
        by = self.word(over, path) if isinstance(over, tuple) else over
        if isinstance(by, tuple):
            _, arrivals, expects = path.phase(by)
            by = by if expects or not arrivals else None  # the phase may be over before the copy
        return replace(path, flights=path.flights | {_Flight(node.point, by)})

    def word(self, place: WordPlace, path: _Path) -> _Word | None:
        buffer, at = place
        number = None if at is None else _number(at, dict(path.exact))
        return None if number is None or buffer in path.lost else (buffer, number)

    def event(self, node: ProxyWait, path: _Path) -> _Path:
        if node.event is ProxyEvent.COMMIT:
            return replace(path, flights=frozenset(_older(each, node.family) for each in path.flights))
        if node.event is ProxyEvent.GROUPS:
            over = {each for each in path.flights if each.by is node.family and each.age > node.left}
            self.over_at.setdefault(node.point, set()).update(each.issue for each in over)
            return replace(path, flights=path.flights - over)
        assert node.word is not None
        word = self.word(node.word, path)
        if word is None or node.event is ProxyEvent.LOST:
            return _lose(path, node.word[0])
        parity, arrivals, expects = path.phase(word)
        if node.event is ProxyEvent.EXPECT:
            return path.at(word, parity, arrivals, expects=expects or not arrivals)
        if node.event is ProxyEvent.ARRIVE:
            return path.at(word, parity, min(arrivals + 1, 2), expects=expects)
        asked = parity if node.parity is None else _bit(node.parity, dict(path.bits))
        if asked is None or any(each.word == word for each in path.asked):
            return _lose(path, word[0])  # it may be the next phase that the thread waits for from now on
        if asked & 1 != parity:
            return path  # the phase before is over
        if node.event is ProxyEvent.PHASE:
            return self.over(path, word, node.point)
        assert node.answer is not None
        return replace(path, asked=path.asked | {_Question(node.answer, word, node.point)})

    def over(self, path: _Path, word: _Word, point: int) -> _Path:
        """The phase of a word is over that the thread waits for at ``point``."""
        parity, arrivals, _ = path.phase(word)
        if arrivals > 1:
            return _lose(path, word[0])
        over = {each for each in path.flights if each.by == word} if arrivals else set()
        self.over_at.setdefault(point, set()).update(each.issue for each in over)
        return replace(path, flights=path.flights - over).at(word, 1 - parity)


def _lose(path: _Path, buffer: int) -> _Path:
    return replace(
        path,
        phases=frozenset(each for each in path.phases if each[0][0] != buffer),
        asked=frozenset(each for each in path.asked if each.word[0] != buffer),
        flights=frozenset(
            each._replace(by=None) if isinstance(each.by, tuple) and each.by[0] == buffer else each
            for each in path.flights
        ),
        lost=path.lost | {buffer},
    )


def _older(flight: _Flight, family: Family) -> _Flight:
    return flight._replace(age=min(flight.age + 1, _OLDEST)) if flight.by is family else flight


def _with(known: frozenset[tuple[int, int]], variable: int, number: int | None) -> frozenset[tuple[int, int]]:
    rest = frozenset(each for each in known if each[0] != variable)
    return rest if number is None else rest | {(variable, number)}


def _steady(path: _Path, changed: frozenset[int], heads: _Paths) -> _Path:
    """``path`` at the end of a turn: without the numbers of variables that each turn changes."""
    exact = frozenset(
        each for each in path.exact if each[0] not in changed or all(each in head.exact for head in heads)
    )
    return replace(path, exact=exact)


def _literal(value: Value) -> tuple[Unknown | int | None, bool]:
    """(what decides whether a value is not zero, whether it is so where that is zero)."""
    inverted = False
    while isinstance(value, Op):
        zero = len(value.args) == 2 and value.args[1] == Const(0)
        if value.operator is Operator.NOT or (zero and value.operator is Operator.EQUAL):
            inverted = not inverted
        elif value.operator is not Operator.CAST and not (zero and value.operator is Operator.NOT_EQUAL):
            return None, False
        value = value.args[0]
    if isinstance(value, Var):
        return value.index, inverted
    return (value if isinstance(value, Unknown) else None), inverted


def _lasts(condition: Value) -> bool:
    """Is it the same until a variable in it is assigned?"""
    if isinstance(condition, Op):
        return condition.operator in _ARITHMETIC and all(map(_lasts, condition.args))
    return isinstance(condition, Const | Thread | Sym | Var)


def _bit(value: Value, bits: Mapping[int, int]) -> int | None:
    """0 or 1, or 2 more where only the lowest bit of a value is known; None: nothing is."""
    if isinstance(value, Const):
        return value.n if value.n in (0, 1) else 2 | value.n & 1
    if isinstance(value, Var):
        return bits.get(value.index)
    if not isinstance(value, Op) or value.operator not in _OF_BITS:
        return None
    given = [_bit(each, bits) for each in value.args]
    one, other = given[0], given[-1]
    if value.operator is Operator.CAST:  # 0 and 1 are numbers of every type
        return one if one is not None and one < 2 else None
    if value.operator is Operator.REMAINDER:
        return one & 1 if one is not None and value.args[1] == Const(2) else None
    if value.operator in (Operator.MULTIPLY, Operator.BIT_AND) and 0 in given:
        return 0
    if one is None or other is None:
        return None
    if value.operator is Operator.BIT_AND:
        return one & other & 1 if one < 2 or other < 2 else one & other
    if value.operator in (Operator.BIT_XOR, Operator.ADD, Operator.SUBTRACT):
        carries = value.operator is Operator.ADD and one & other
        borrows = value.operator is Operator.SUBTRACT and other > one
        return (one ^ other) & 1 | (2 if carries or borrows else (one | other) & 2)
    if value.operator in (Operator.NOT, Operator.EQUAL, Operator.NOT_EQUAL):
        differ = one if value.operator is Operator.NOT else one ^ other
        inverted = value.operator is not Operator.NOT_EQUAL
        return differ ^ inverted if max(one, other) < 2 else None
    if value.operator is Operator.BIT_NOT:
        return 2 | 1 - (one & 1)
    return one | other if value.operator is Operator.BIT_OR else None


def _number(value: Value, exact: Mapping[int, int]) -> int | None:
    if isinstance(value, Const):
        return value.n
    if isinstance(value, Var):
        return exact.get(value.index)
    if not isinstance(value, Op) or len(value.args) != 2:
        return None
    one, other = (_number(each, exact) for each in value.args)
    return None if one is None or other is None else computed(value.operator, one, other, value.reading)
