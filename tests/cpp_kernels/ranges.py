"""Types of numbers and the values that an expression can have, so that none is written whose value C++ leaves open."""

from __future__ import annotations

from dataclasses import dataclass, replace

WIDTHS = {
    "bool": (1, False),
    "signed char": (8, True),
    "unsigned char": (8, False),
    "short": (16, True),
    "unsigned short": (16, False),
    "int": (32, True),
    "unsigned": (32, False),
    "long long": (64, True),
    "unsigned long long": (64, False),
}
FLOATS = ("float", "double")
_EXACT = 1 << 20  # float has every number below, halves and quarters included


@dataclass(frozen=True, slots=True)
class Number:
    """An expression that can stand as an operand of any operator; ``low`` and ``high``: of its values, truncated."""

    text: str
    type: str
    low: int
    high: int

    def within(self, count: int) -> bool:
        """Is it an index of so many elements?"""
        return self.type not in FLOATS and self.low >= 0 and self.high < count


class Undefined(Exception):
    """C++ does not say what the expression is."""


def bounds(type: str) -> tuple[int, int]:
    """The least and the greatest value of an integer type."""
    bits, signed = WIDTHS[type]
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)


def converted(number: Number, type: str) -> Number:
    """The same number as another type; without its text. Raises Undefined."""
    if type in FLOATS:
        if not -_EXACT <= number.low <= number.high <= _EXACT:
            raise Undefined
        return replace(number, type=type)
    if type == "bool":
        if number.type in FLOATS:
            raise Undefined  # a half is true
        low, high = (0, 0) if number.low == number.high == 0 else (int(number.low > 0 or number.high < 0), 1)
        return replace(number, type=type, low=low, high=high)
    low, high = bounds(type)
    if low <= number.low and number.high <= high:
        return replace(number, type=type)
    if number.type in FLOATS:
        raise Undefined
    return replace(number, type=type, low=low, high=high)


def promoted(type: str) -> str:
    """What an operand of this type is counted in, [conv.prom]."""
    return "int" if type in WIDTHS and WIDTHS[type][0] < 32 else type


def common(first: str, second: str) -> str:
    """The type of an operation on both, [expr.arith.conv]."""
    for each in ("double", "float", "unsigned long long", "long long", "unsigned"):
        if each in (first, second):
            return each
    return "int"


def operated(number: Number, operator: str, operand: int, operand_type: str = "int") -> Number:
    """``number operator operand``, the operand at least 0; without its text. Raises Undefined."""
    shift = operator in ("<<", ">>")
    type = promoted(number.type) if shift else common(promoted(number.type), operand_type)
    left = converted(number, type)
    ends = _ends(left, operator, operand)
    low, high = min(ends), max(ends)
    if type in FLOATS:
        return converted(Number("", type, low - (low < 0), high + 1), type)
    least, greatest = bounds(type)
    if least <= low and high <= greatest:
        return Number("", type, low, high)
    if WIDTHS[type][1]:
        raise Undefined
    return Number("", type, least, greatest)


def _ends(left: Number, operator: str, operand: int) -> tuple[int, int]:
    low, high = left.low, left.high
    if operator == "+":
        return low + operand, high + operand
    if operator == "-":
        return low - operand, high - operand
    if operator == "*":
        return low * operand, high * operand
    if operator == "/":
        return _truncated(low, operand), _truncated(high, operand)
    if operator == "%":
        if low >= 0 and high < operand:
            return low, high
        return (0 if low >= 0 else 1 - operand), (0 if high <= 0 else operand - 1)
    if operator == "&":
        return 0, operand if low < 0 else min(high, operand)
    if operator == "^":
        if low < 0:
            raise Undefined  # not undefined, but not worth a range
        return 0, (1 << max(high.bit_length(), operand.bit_length())) - 1
    if operator == ">>":
        return low >> operand, high >> operand
    if operator == "<<":
        if low < 0:
            raise Undefined
        return low << operand, high << operand
    raise ValueError(operator)


def _truncated(value: int, by: int) -> int:
    return abs(value) // by * (1 if value >= 0 else -1)
