"""Operators, the types that they read their operands as, and what they make of two numbers."""

from __future__ import annotations

import enum

from smem_lsp.source.integers import applied, in_64_bits


class Operator(enum.Enum):
    """What an ``Op`` does to its operands. The value is the spelling, in C where C has one."""

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    REMAINDER = "%"
    BIT_AND = "&"
    BIT_OR = "|"
    BIT_XOR = "^"
    SHIFT_LEFT = "<<"
    SHIFT_RIGHT = ">>"
    THREE_WAY = "<=>"
    LESS = "<"
    LESS_EQUAL = "<="
    GREATER = ">"
    GREATER_EQUAL = ">="
    EQUAL = "=="
    NOT_EQUAL = "!="
    AND = "&&"
    OR = "||"
    NOT = "!"
    BIT_NOT = "~"
    NEGATE = "neg"
    MIN = "min"
    MAX = "max"
    CONDITIONAL = "?:"

    CAST = "cast"  # to a type that may not hold every value
    CONSTEXPR = "constexpr"  # the condition of an ``if constexpr`` that is not known
    LOAD = "load"  # base, index: what stands in memory that is not shared
    READONLY = "readonly"  # the same, of memory that nobody writes while the kernel runs
    ELEMENT = "element"  # the same, of an array that is a part of an object
    MEMBER = "."  # object
    SET_MEMBER = "set ."  # object, value: the object after that member was assigned
    CHANGE_MEMBER = "with ."  # object, value: the object after a part of that member was assigned
    CHANGE = "changed"  # object, value: the object after a part was assigned, not known which
    CALL = "()"  # the result of a function that looks at its operands only

    def __init__(self, spelling: str) -> None:
        self.spelling = spelling

    __hash__ = object.__hash__  # there is one of each

    @property
    def is_named(self) -> bool:
        """Does the name of a member or a function belong to it?"""
        return self in _NAMED


class OperandType(enum.Enum):
    """The type that C converts the operands of an operator to. Additions, subtractions, products and masks are the
    same in all integer types, but for what is a multiple of 2**32; comparisons, divisions, remainders, shifts to the
    right and limits read their operands as numbers of this type. (C++ standard, [expr.arith.conv])"""

    UNKNOWN = enum.auto()
    INT = enum.auto()
    UNSIGNED = enum.auto()  # 32 bits
    LONG = enum.auto()
    UNSIGNED_LONG = enum.auto()  # 64 bits

    @property
    def mask(self) -> int | None:
        """What an unsigned type makes of -1; None: another type."""
        return _MASKS.get(self)

    def of(self, n: int) -> int | None:
        """The number that the operator gets where unbounded arithmetic has ``n``; None: not known."""
        mask = _MASKS.get(self)
        if mask is not None:
            return n & mask
        return n if n >= 0 or self is not OperandType.UNKNOWN else None


_MASKS = {OperandType.UNSIGNED: (1 << 32) - 1, OperandType.UNSIGNED_LONG: (1 << 64) - 1}
# operators whose result depends on the type of their operands
READS = frozenset(map(Operator, ("<", "<=", ">", ">=", "==", "!=", "/", "%", ">>", "min", "max")))


_NAMED = (Operator.MEMBER, Operator.SET_MEMBER, Operator.CHANGE_MEMBER, Operator.CALL)
_OF_C = {each.spelling: each for each in Operator}


def operator_of(spelling: str) -> Operator:
    """The operator with this spelling in C. Raises KeyError."""
    return _OF_C[spelling]


def computed(operator: Operator, a: int, b: int, reading: OperandType) -> int | None:
    """``a operator b``; None: it has no value, or which one depends on a type that is not known."""
    if operator in READS:
        left, right = reading.of(a), b if operator is Operator.SHIFT_RIGHT else reading.of(b)
        if left is None or right is None:
            return None
        a, b = left, right
    found = applied(operator.spelling, a, b)
    return None if found is None else in_64_bits(found)
