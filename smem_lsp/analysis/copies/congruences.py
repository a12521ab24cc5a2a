"""Values that are known but for a multiple: ``k % 4`` and ``k / 4 & 1`` of a ``k`` that every iteration of a loop
changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import lcm

from smem_lsp.ir.values import Const, Op, Value, Var, operation, parts_of
from smem_lsp.terms.congruences import Number, of_two
from smem_lsp.terms.operators import Operator

_MOST = 64  # the largest modulus that is told apart


def number(value: Value, known: Mapping[int, Number]) -> Number | None:
    """What a value is where variables are ``known``; None: anything."""
    if isinstance(value, Const):
        return value.n, 0
    if isinstance(value, Var):
        return known.get(value.index)
    if not isinstance(value, Op):
        return None
    given = [number(each, known) for each in value.args]
    if value.operator is Operator.CONDITIONAL:
        return given[1 if given[0][0] else 2] if given[0] is not None and not given[0][1] else None
    if value.operator in (Operator.MULTIPLY, Operator.BIT_AND, Operator.AND) and (0, 0) in given:
        return 0, 0
    numbers = [each for each in given if each is not None]
    if len(numbers) < len(given):
        return None
    if not any(modulus for _, modulus in numbers):
        return _exact(value, [n for n, _ in numbers])
    return of_two(value.operator.spelling, *numbers) if len(numbers) == 2 else None


def _exact(value: Op, given: list[int]) -> Number | None:
    if value.operator is Operator.CAST:  # 0 and 1 are numbers of every type
        return (given[0], 0) if given[0] in (0, 1) else None
    made = operation(value.operator, *map(Const, given), reading=value.reading)
    return (made.n, 0) if isinstance(made, Const) else None


def modulus(values: Iterable[Value]) -> int:
    """What numbers have to be known up to, so that the remainders in ``values`` are, and whether quotients are odd."""
    found = 1
    for whole in values:
        for value in parts_of(whole):
            if isinstance(value, Op) and isinstance(value.args[-1], Const) and len(value.args) == 2:
                found = lcm(found, _of_operator(value.operator, value.args[-1].n))
    return 2 * found if 2 * found <= _MOST else 2


def _of_operator(operator: Operator, n: int) -> int:
    if not 0 < n < _MOST:
        return 1
    if operator in (Operator.DIVIDE, Operator.REMAINDER):
        return n
    if operator is Operator.SHIFT_RIGHT:
        return 1 << n
    return 1 << n.bit_length() if operator is Operator.BIT_AND else 1
