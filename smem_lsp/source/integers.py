"""The operators of C on whole numbers: what each computes, and how they are related.

Numbers have no bounds here: who knows a type cuts what they give.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType

MOST_SHIFTED = 63  # bits


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
        "<<": lambda a, b: a << min(max(b, 0), MOST_SHIFTED),
        ">>": lambda a, b: a >> min(max(b, 0), MOST_SHIFTED),
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
        "==": operator.eq,
        "!=": operator.ne,
        "&&": lambda a, b: int(a != 0 and b != 0),
        "||": lambda a, b: int(a != 0 or b != 0),
        "min": min,
        "max": max,
    }
)
"""Defined for any two numbers, but for a division by zero. C gives a shift by less than 0, or by more bits than a type
has, no value."""

UNARY: Mapping[str, Callable[[int], int]] = MappingProxyType(
    {"neg": operator.neg, "~": operator.invert, "!": lambda n: int(not n)}
)

NEGATED: Mapping[str, str] = MappingProxyType(
    {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
)
"""The comparison that holds where another does not."""
MIRRORED: Mapping[str, str] = MappingProxyType(
    {"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
)
"""The comparison of the same two numbers in the other order."""

NEUTRAL: Mapping[str, int] = MappingProxyType(
    {"+": 0, "-": 0, "|": 0, "^": 0, "<<": 0, ">>": 0, "*": 1, "/": 1}
)
"""The right operand that changes nothing; of an operator that commutes, the left one, too."""
ABSORBING: Mapping[str, int] = MappingProxyType({"*": 0, "&": 0, "&&": 0})
"""The operand, on either side, that the result is whatever the other one is."""
COMMUTATIVE = frozenset("+ * & | ^ && || == != min max".split())

COMPARISONS = NEGATED.keys()
TRUTHS = COMPARISONS | {"&&", "||", "!"}
"""Operators whose result is 0 or 1."""
INFIX = BINARY.keys() - {"min", "max"}
NUMERIC = INFIX - TRUTHS
"""Operators between two operands that compute a number."""
OPERATORS = BINARY.keys() | UNARY.keys() | {"?:"}
"""All, ``?:`` too: what each gives depends on its operands alone."""


def applied(name: str, a: int, b: int) -> int | None:
    """``a name b``; None: no operator of two numbers, a division by zero, or a shift out of a word of 64 bits."""
    if name not in BINARY or (b == 0 and name in ("/", "%")):
        return None
    return None if name in ("<<", ">>") and not 0 <= b <= MOST_SHIFTED else int(BINARY[name](a, b))


def in_64_bits(n: int) -> int:
    """``n`` in two's complement."""
    n &= (1 << 64) - 1
    return n - (1 << 64) if n >> 63 else n
