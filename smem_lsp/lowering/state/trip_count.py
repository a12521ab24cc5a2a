"""Exact trip counts, by running the loop's head."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from smem_lsp.ir.nodes import Assignment, Node, Seq, walk
from smem_lsp.ir.values import Const, Op, Thread, Value, Var, variables_of
from smem_lsp.source import checkpoint
from smem_lsp.source.integers import UNARY
from smem_lsp.terms.operators import Operator, computed

MAX_TRIPS = 4096
_RANGE = 1 << 31  # a number beyond may wrap


def count_trips(
    condition: Value,
    step: Sequence[Node],
    body: Sequence[Node],
    initial: Callable[[int], Value | None],
) -> tuple[int, int | None]:
    """(at least, exactly) how often ``for (init; condition; step)`` iterates while nothing leaves it early.

    Exactly None: the condition depends on more than variables that start at constants and are changed by the step
    alone. At least is 0 or 1: callers want to know whether the loop runs at all. Counting stops at MAX_TRIPS.
    """
    updates = [item for item in step if isinstance(item, Assignment)]
    if len(updates) != len(step) or not updates:
        return 0, None
    asked = {v for value in (condition, *(each.value for each in updates)) for v in variables_of(value)}
    values = {v: known.n for v in asked if isinstance(known := initial(v), Const)}
    if values:
        for item in walk(Seq(tuple(body))):
            if isinstance(item, Assignment):
                values.pop(item.variable, None)
    trips = 0
    while trips < MAX_TRIPS:
        checkpoint()
        holds = constant(condition, values)
        if holds is None:
            return min(1, trips), None
        if not holds:
            return min(1, trips), trips
        trips += 1
        for update in updates:
            following = constant(update.value, values)
            if following is None or not -_RANGE <= following < _RANGE:
                values.pop(update.variable, None)
            else:
                values[update.variable] = following
    return 1, trips


def never_runs(condition: Value, initial: Callable[[int], Value | None]) -> bool:
    """Is the condition of a loop surely false before its first iteration? ``i < 0`` is for the number of a thread."""
    asked = set(variables_of(condition))
    values = {v: known.n for v in asked if isinstance(known := initial(v), Const)}
    if constant(condition, values) == 0:
        return True
    if not (
        isinstance(condition, Op)
        and condition.operator is Operator.LESS
        and isinstance(condition.args[0], Var)
    ):
        return False
    return isinstance(initial(condition.args[0].index), Thread) and condition.args[1] == Const(0)


def constant(value: Value, values: Mapping[int, int]) -> int | None:
    """``value`` with constants for variables; None when anything else is in it, or a negative number of a type that is
    not known: if it is unsigned, it wraps."""
    match value:
        case Const():
            return value.n
        case Var():
            return values.get(value.index)
        case Op():
            args = [constant(arg, values) for arg in value.args]
            if any(arg is None for arg in args):
                return None
            operands = [arg for arg in args if arg is not None]
            if value.operator is Operator.CONDITIONAL:
                return operands[1] if operands[0] else operands[2]
            if len(operands) == 1:
                computes = UNARY.get(value.operator.spelling)
                return None if computes is None else computes(operands[0])
            if len(operands) != 2:
                return None
            return computed(value.operator, operands[0], operands[1], value.reading)
    return None
