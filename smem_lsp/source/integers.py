"""Operators of C on whole numbers, without bounds: who knows a type cuts what they give."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType


def quotient(a: int, b: int) -> int:
    """``a / b``, rounded towards zero ([expr.mul]/4). Raises ZeroDivisionError."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a: int, b: int) -> int:
    """``a % b``, of the sign of ``a``. Raises ZeroDivisionError."""
    return a - quotient(a, b) * b


BINARY: Mapping[str, Callable[[int, int], int]] = MappingProxyType(
    {
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "/": quotient,
        "%": remainder,
        "&": operator.and_,
        "|": operator.or_,
        "^": operator.xor,
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
        "==": operator.eq,
        "!=": operator.ne,
    }
)
"""All that are defined for any two numbers, but for a division by zero. Shifts depend on the width."""
