"""All values of a term that takes only few of them: a stride that is halved, a stage of a pipeline."""

from __future__ import annotations

from itertools import product

from smem_lsp.analysis.values.orbits import orbit_of
from smem_lsp.analysis.values.ranges import Bounds
from smem_lsp.analysis.values.value_facts import LoopFacts, Recurrence, ValueFacts
from smem_lsp.source.integers import BINARY, NUMERIC
from smem_lsp.terms.language import Const, LoopVar, Op, Term
from smem_lsp.terms.operators import OperandType, computed, operator_of

_MOST = 34  # values
_MOST_CASES = 80  # operands of one operation
_DEEPEST = 6


def few_values(
    values: ValueFacts, bounds: Bounds, term: Term, depth: int = 0, *, least: int = 1
) -> tuple[int, ...] | None:
    """None: many, or not known. None of them is below ``least``, nor are those that they are made of."""
    if isinstance(term, Const):
        found: frozenset[int] | None = frozenset((term.n,))
    elif depth > _DEEPEST:
        found = None
    elif isinstance(term, LoopVar):
        found = _of_variable(values, bounds, term, depth, least)
    elif isinstance(term, Op) and len(term.args) == 2 and term.operator in NUMERIC:
        found = _of_operation(values, bounds, term, depth, least)
    else:
        found = None
    return None if found is None or not found or min(found) < least else tuple(sorted(found))


def _of_operation(
    values: ValueFacts, bounds: Bounds, term: Op, depth: int, least: int
) -> frozenset[int] | None:
    sides = [few_values(values, bounds, arg, depth + 1, least=least) for arg in term.args]
    left, right = sides
    if left is None or right is None or len(left) * len(right) > _MOST_CASES:
        return None
    found = [computed(operator_of(term.operator), a, b, OperandType.INT) for a, b in product(left, right)]
    known = frozenset(each for each in found if each is not None)
    return known if len(found) == sum(each is not None for each in found) and len(known) <= _MOST else None


def _of_variable(
    values: ValueFacts, bounds: Bounds, atom: LoopVar, depth: int, least: int
) -> frozenset[int] | None:
    loop = values.loops.get(atom.loop)
    moves = None if loop is None else next((each for each in loop.recurrences if each.atom is atom), None)
    if loop is None or moves is None:
        return None
    low, high = bounds.interval(atom)
    first = few_values(values, bounds, moves.init, depth + 1, least=least)
    step = None if moves.by is None else bounds.interval(moves.by)
    if first is not None and step is not None and step[0] == step[1]:
        if moves.kind == "geometric":
            return _from(first, moves.operator, step[0], low, high, loop.trips)
        if moves.kind == "affine" and step[0]:
            return _from(first, "+", step[0], low, high, loop.trips)
    return _of_orbit(values, loop, moves)


def _from(
    first: tuple[int, ...], operator: str, step: int, low: int, high: int, trips: int | None
) -> frozenset[int] | None:
    """The numbers within bounds that a step leads to from one of the first ones, ``trips`` times at most."""
    found: set[int] = set()
    for start in first:
        value: int | None = start
        left, own = trips, set[int]()
        while value is not None and low <= value <= high and value not in own:
            own.add(value)
            found.add(value)
            if len(found) > _MOST:
                return None
            if left is not None:
                if not left:
                    break
                left -= 1
            value = value + step if operator == "+" else advanced(operator, value, step)
    return frozenset(found)


def _of_orbit(values: ValueFacts, loop: LoopFacts, moves: Recurrence) -> frozenset[int] | None:
    orbit = orbit_of(values, loop, moves.atom)
    taken = () if orbit is None else (*orbit.first, *orbit.repeated)
    numbers = frozenset(each.n for each in taken if isinstance(each, Const))
    return numbers if taken and all(isinstance(each, Const) for each in taken) else None


def advanced(operator: str, n: int, by: int) -> int | None:
    """``n`` after one iteration of a loop that doubles or halves it; None: it is no such loop."""
    if by <= 0 or (operator in ("*", "/") and by < 2) or by > 31:
        return None
    found = BINARY[operator](n, by) if operator in ("*", "/", "<<", ">>") else None
    return found if found is not None and found < 1 << 31 else None
