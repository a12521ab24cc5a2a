"""How far values are apart that are not known themselves: a counter of a loop from the bound that it counts to.

In a zone a variable has its number, no less than 0, as its name; other values that stay the same while the variables in
them do are numbered downwards. No sum passes the end of its type.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from smem_lsp.ir.values import Const, Op, Sym, Thread, Unknown, Value, Var, parts_of, variables_of
from smem_lsp.source import checkpoint
from smem_lsp.source.integers import OPERATORS
from smem_lsp.source.record import dataclass
from smem_lsp.terms.operators import OperandType, Operator
from smem_lsp.terms.zones import ZERO, Bounds, Side, Zone, assigned, bound, bounds_of, most_between, zone_of

_MOST = 64  # the largest constant that is told apart
_COMPUTED = OPERATORS - {"?:"}
_ORDERS = frozenset(map(Operator, ("<", "<=", ">", ">=")))
_COMPARES = _ORDERS | {Operator.EQUAL, Operator.NOT_EQUAL, Operator.MIN, Operator.MAX}
_CHOOSES = (Operator.MIN, Operator.MAX, Operator.CONDITIONAL)
_CONVERSES = {Operator.GREATER: Operator.LESS, Operator.GREATER_EQUAL: Operator.LESS_EQUAL}
_SIGNED = (OperandType.INT, OperandType.LONG)


def lasts(value: Value) -> bool:
    """Is it the same until a variable in it is assigned?"""
    if isinstance(value, Op):
        return value.operator.spelling in _COMPUTED and all(map(lasts, value.args))
    return isinstance(value, Const | Thread | Sym | Var)


@dataclass(slots=True)
class Differences:
    """``followed``: variables that are compared with what is no constant, and those that they are assigned from;
    ``natural``: those of them that are only read as numbers without a sign, so none is below 0 that nothing else is
    known of; ``open``: variables that may change at any time; ``largest``: no constants beyond are told apart at the
    beginning of an iteration (Behrmann and others, "Lower and Upper Bounds in Zone Based Abstractions of Timed
    Automata")."""

    followed: frozenset[int]
    natural: frozenset[int]
    open: frozenset[int]
    largest: int
    others: dict[tuple[Value, bool], int] = field(default_factory=dict)

    def chooses(self, value: Value) -> bool:
        """Is it one of two values, by what is followed?"""
        return (
            isinstance(value, Op)
            and value.operator in _CHOOSES
            and not self.followed.isdisjoint(variables_of(value))
        )

    def concerns(self, variable: int) -> bool:
        """Does an assignment to it change a zone?"""
        return variable in self.followed or any(variable in variables_of(each) for each, _ in self.others)

    def assigned(self, zone: Zone, variable: int, value: Value) -> Zone:
        """Behind an assignment."""
        gone = {n for (each, _), n in self.others.items() if variable in variables_of(each)}
        if variable not in self.followed and not gone:
            return zone
        side = self._side(value, False) if variable in self.followed else None
        known = side if side is not None and side[0] >= ZERO else None
        kept = frozenset(each for each in zone if gone.isdisjoint(each[:2]))
        bounded = {(ZERO, variable, 0)} if known is None and variable in self.natural else set()
        return assigned(kept, variable, known) | bounded

    def where(self, zone: Zone, comparison: Op, truth: bool) -> tuple[Zone, ...] | None:
        """The zones, none or one, in which a comparison is ``truth``; None: it is not followed."""
        if comparison.operator not in _COMPARES or self.followed.isdisjoint(variables_of(comparison)):
            return None
        operator, *sides = _turned(comparison)
        found = bounds_of(zone)
        left, right = (self._read(found, each, comparison.reading) for each in sides)
        if left is None or right is None:
            return None
        if operator in _ORDERS:
            less = operator is Operator.LESS
            fits = bound(found, left, right, -less) if truth else bound(found, right, left, less - 1)
        elif truth is (operator is Operator.EQUAL):
            fits = bound(found, left, right, 0) and bound(found, right, left, 0)
        elif most_between(found, left, right) == 0:
            fits = bound(found, left, right, -1)
        else:
            fits = most_between(found, right, left) != 0 or bound(found, right, left, -1)
        return (zone_of(found),) if fits else ()

    def kept(self, zone: Zone, first: Zone, changed: Collection[int], counters: Collection[int]) -> Zone:
        """What is kept at the beginning of an iteration, one of finitely many. ``first``: what holds at that of the
        first one; ``changed``: variables that iterations change; ``counters``: those of them that they only make
        larger."""
        known = bounds_of(first)
        bounds: Bounds = {}
        for a, b, n in zone:
            if a not in changed and b not in changed:
                bounds[a, b] = n
            elif a == ZERO:
                if b in counters and (a, b) in known:
                    bounds[a, b] = known[a, b]
            elif b != ZERO and n <= self.largest:
                bounds[a, b] = max(n, -self.largest)
        return zone_of(bounds)

    def iterations(self, zone: Zone, condition: Value, counters: Collection[int]) -> int | None:
        """How many iterations at most a loop makes, each of which makes ``counters`` larger; None: not known."""
        if not isinstance(condition, Op) or len(condition.args) != 2:
            return None
        if condition.operator is Operator.AND:
            parts = [self.iterations(zone, each, counters) for each in condition.args]
        elif condition.operator in _ORDERS:
            operator, one, other = _turned(condition)
            limits = other.args if isinstance(other, Op) and other.operator is Operator.MIN else (other,)
            left, bounds = self._side(one, False), bounds_of(zone)
            if left is None or left[0] not in counters:
                return None
            sides = [self._side(each, False) for each in limits]
            most = [None if each is None else most_between(bounds, each, left) for each in sides]
            parts = [None if each is None else each + (operator is Operator.LESS_EQUAL) for each in most]
        else:
            return None
        return min((max(each, 0) for each in parts if each is not None), default=None)

    def _read(self, bounds: Bounds, value: Value, reading: OperandType) -> Side | None:
        """A side of a comparison, if it is read as the number that it is."""
        side = self._side(value, reading.mask is not None)
        if side is None or reading in _SIGNED:
            return side
        number, by = side
        if number < ZERO:
            if reading.mask is None:
                return None
            bound(bounds, (ZERO, 0), (number, 0), 0)
        below = 0 if number == ZERO else bounds.get((ZERO, number))
        return side if below is not None and by >= below else None

    def _side(self, value: Value, unsigned: bool) -> Side | None:
        if isinstance(value, Const):
            return ZERO, value.n
        if isinstance(value, Var):
            return (value.index, 0) if value.index in self.followed else None
        found = _moved(value)
        if found is not None:
            side = self._side(found[0], unsigned)
            return None if side is None else (side[0], side[1] + found[1])
        if not lasts(value) or not self.open.isdisjoint(variables_of(value)):
            return None
        return self.others.setdefault((value, unsigned), ZERO - 1 - len(self.others)), 0


def differences(
    conditions: Iterable[Value], deciding: Iterable[Value], assigns: Mapping[int, Sequence[Value]]
) -> Differences:
    """What to follow. ``conditions``: all of a kernel; ``deciding``: those that what is asked for depends on."""
    values = [*conditions, *(value for each in assigns.values() for value in each)]
    changing = frozenset(
        variable
        for variable, given in assigns.items()
        if any(isinstance(each, Unknown) and each.escaped for each in given)
    )
    chosen = [each for each in _comparisons(deciding) if not any(isinstance(x, Const) for x in each.args)]
    followed = _sources(chosen, assigns) - changing
    signed = _sources((each for each in _comparisons(values) if each.reading.mask is None), assigns)
    told = [*deciding, *(value for each in followed for value in assigns.get(each, ()))]
    numbers = (abs(part.n) for value in told for part in parts_of(value) if isinstance(part, Const))
    largest = 1 + 2 * max((each for each in numbers if each <= _MOST), default=0)  # a condition behind a step
    return Differences(followed, followed - signed, changing, largest)


def _comparisons(values: Iterable[Value]) -> Iterator[Op]:
    for value in values:
        for part in parts_of(value):
            if isinstance(part, Op) and part.operator in _COMPARES:
                yield part


def _sources(values: Iterable[Value], assigns: Mapping[int, Sequence[Value]]) -> frozenset[int]:
    """The variables that the sides of comparisons are, but for a constant or a choice, and those assigned to these."""
    found: set[int] = set()
    left = [each for value in values if isinstance(value, Op) for each in value.args]
    while left:
        checkpoint()
        value = left.pop()
        moved = _moved(value)
        if isinstance(value, Var) and value.index not in found:
            found.add(value.index)
            left += assigns.get(value.index, ())
        elif moved is not None:
            left.append(moved[0])
        elif isinstance(value, Op) and value.operator in _CHOOSES:
            left += value.args
            left += (side for each in _comparisons(value.args) for side in each.args)
    return frozenset(found)


def _moved(value: Value) -> tuple[Value, int] | None:
    """A value and the constant that is added to it."""
    if not isinstance(value, Op) or value.operator not in (Operator.ADD, Operator.SUBTRACT):
        return None
    one, other = value.args
    if isinstance(other, Const):
        return one, other.n if value.operator is Operator.ADD else -other.n
    return (other, one.n) if isinstance(one, Const) and value.operator is Operator.ADD else None


def _turned(comparison: Op) -> tuple[Operator, Value, Value]:
    """With the side in front that is less."""
    one, other = comparison.args
    if comparison.operator in _CONVERSES:
        return _CONVERSES[comparison.operator], other, one
    return comparison.operator, one, other
