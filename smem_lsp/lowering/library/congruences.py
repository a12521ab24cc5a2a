"""Numbers that are known but for a multiple: ``k % 4`` and ``k / 4 & 1`` of a ``k`` that every turn of a loop changes
(Granger, "Static analysis of arithmetical congruences").

``(n, 0)`` is the number ``n``; ``(n, m)`` is one of ``n``, ``n + m``, ``n + 2 * m`` and so on, none of them negative.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import gcd, lcm

from smem_lsp.ir.values import Const, Op, Operator, Value, Var, operation, parts_of

Number = tuple[int, int]

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
    return _two(value.operator, *numbers) if len(numbers) == 2 else None


def _exact(value: Op, given: list[int]) -> Number | None:
    if value.operator is Operator.CAST:  # 0 and 1 are numbers of every type
        return (given[0], 0) if given[0] in (0, 1) else None
    made = operation(value.operator, *map(Const, given), reading=value.reading)
    return (made.n, 0) if isinstance(made, Const) else None


def _two(operator: Operator, one: Number, other: Number) -> Number | None:
    (a, m), (b, n) = one, other
    divisor = gcd(m, n)
    if operator is Operator.ADD:
        return (a + b, divisor) if a + b >= 0 else None
    if operator is Operator.SUBTRACT:
        return (a - b, m) if not n and a >= b else None
    if operator in (Operator.EQUAL, Operator.NOT_EQUAL):
        return (int(operator is Operator.NOT_EQUAL), 0) if (a - b) % divisor else None
    if a < 0 or b < 0:
        return None
    if operator is Operator.MULTIPLY:
        return a * b, gcd(m * n, a * n, b * m)
    if operator in (Operator.BIT_XOR, Operator.BIT_OR):
        low = divisor & -divisor  # the bits below are known
        return (a ^ b if operator is Operator.BIT_XOR else a | b) % low, low
    return None if n else _by(operator, one, b)


def _by(operator: Operator, one: Number, by: int) -> Number | None:
    """One of some numbers and a number."""
    a, m = one
    if operator in (Operator.SHIFT_LEFT, Operator.SHIFT_RIGHT):
        if by >= _MOST:
            return None
        by = 1 << by
        if operator is Operator.SHIFT_LEFT:
            return a * by, m * by
        operator = Operator.DIVIDE
    if operator is Operator.BIT_AND:
        return None if m % (1 << by.bit_length()) else (a & by, 0)
    if operator is Operator.DIVIDE:
        return (a // by, m // by) if by and m % by == 0 else None
    if operator is Operator.REMAINDER and by:
        left = gcd(m, by)
        return a % left, 0 if left == by else left
    return None


def turned(each: Number, first: Number, modulus: int) -> Number | None:
    """What is kept of a number that every turn of a loop makes larger. ``first``: what it was in the first one."""
    (n, m), (start, _) = each, first
    m = gcd(m, modulus)
    return None if min(n, start) < 0 or n < start else (start + (n - start) % m, m)


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
