"""Values of floating-point types: what conversions to and from them make of a value, and which are known numbers.

C++ standard, [conv.double], [conv.fpint], [expr.arith.conv]: a number is rounded to the type it gets, the result of an
operator to the type that it is computed in. A constant is rounded here; of all others only the function is known.
"""

from __future__ import annotations

from smem_lsp.elaborate.conversions import is_integer, range_of
from smem_lsp.ir import extents
from smem_lsp.ir.values import Const, Op, Thread, Value, Var, operation
from smem_lsp.semantics.entities import TypedConstant
from smem_lsp.semantics.floating_point import EXACT_BITS, Ratio, in_type, literal_ratio
from smem_lsp.semantics.types import FLOAT, Scalar
from smem_lsp.terms.operators import OperandType, Operator

_AS_POINT = "float"  # the function from an integer, or a result, to a number with a point
_ROUNDED = "rounded"  # the function from a number, or a result, to the nearest of `float`
QUOTIENT = "float/"
WITHOUT = "int"  # and the one back
OF_POINTS = (
    Operator.LESS,
    Operator.LESS_EQUAL,
    Operator.GREATER,
    Operator.GREATER_EQUAL,
    Operator.EQUAL,
    Operator.NOT_EQUAL,
    Operator.DIVIDE,
)
_ARITHMETIC = (Operator.ADD, Operator.SUBTRACT, Operator.MULTIPLY, Operator.DIVIDE, Operator.NEGATE)
TRUTHS = (*OF_POINTS[:-1], Operator.AND, Operator.OR, Operator.NOT)
_WHOLE = (
    Operator.REMAINDER,
    Operator.BIT_AND,
    Operator.BIT_OR,
    Operator.BIT_XOR,
    Operator.SHIFT_LEFT,
    Operator.SHIFT_RIGHT,
    Operator.BIT_NOT,
    *TRUTHS,
)


def in_real(value: Value, given: Scalar | None, wanted: Scalar) -> Value:
    """A number in the floating-point type ``wanted``. Of the values of such variables, and of loaded ones, only the
    order counts, so integers stand for them. Between two integers lies no third one, but there may be numbers with a
    point: whatever is an integer here, or computed, is a number of which only this is known, that equal operands make
    it equal where they are rounded to the same type. 0 is 0."""
    known = _known(value)
    nearest = None if known is None else in_type(known, wanted)
    if nearest is not None:
        return _constant(nearest)
    if isinstance(value, Op):
        inexact = value.operator in _ARITHMETIC or value.operator in _WHOLE
    else:
        inexact = isinstance(value, Thread | Const)
        inexact = inexact or (isinstance(value, Var) and (given is None or given.kind != "float"))
    rounds = wanted == FLOAT and given != FLOAT and not _is_exact(value, given)
    if inexact and given == FLOAT:
        return rounded(value)
    value = Op(Operator.CALL, (value,), _AS_POINT) if inexact else value
    return rounded(value) if rounds else value


def _is_exact(value: Value, given: Scalar | None) -> bool:
    """Is it an integer that ``float`` holds?"""
    if not is_integer(given) or given is None:
        return False
    most = 1 << EXACT_BITS
    low, high = range_of(given)
    if -most <= low and high <= most:
        return True
    low, high, certain = extents.of_value(value)
    return certain and -most <= low and high <= most


def rounded(value: Value) -> Value:
    """What ``float`` holds of a number, or of the result of its operators."""
    again = isinstance(value, Op) and value.operator is Operator.CALL and value.name == _ROUNDED
    return value if again else Op(Operator.CALL, (value,), _ROUNDED)


def _known(value: Value) -> Ratio | None:
    """The number that a constant is, but for a quotient that is no number of ``double``."""
    if isinstance(value, Const):
        return value.n, 1
    if not isinstance(value, Op):
        return None
    match value.operator, value.args:
        case Operator.NEGATE, (negated,):
            found = _known(negated)
            return None if found is None else (-found[0], found[1])
        case Operator.CALL, (Const(n=n),) if value.name == _AS_POINT:
            return n, 1
        case Operator.CALL, (Const(n=n), Const(n=by)) if value.name == QUOTIENT and by & -by == by > 1:
            return n, by
    return None


def _constant(known: Ratio) -> Value:
    numerator, denominator = known
    if denominator != 1:
        return Op(Operator.CALL, (Const(numerator), Const(denominator)), QUOTIENT)
    return Op(Operator.CALL, (Const(numerator),), _AS_POINT) if numerator else Const(0)


def of_constant(constant: TypedConstant) -> Value | None:
    """The value of a constant of a floating-point type; None: it is not known, or of another type."""
    return None if constant.real is None else _constant(constant.real)


def compared(operator: Operator, left: Value, right: Value) -> Value:
    """A comparison of two numbers in their common type; the answer, where both are known."""
    one, other = _known(left), _known(right)
    if one is None or other is None:
        return operation(operator, left, right)
    return operation(operator, Const(one[0] * other[1]), Const(other[0] * one[1]), reading=OperandType.LONG)


def is_true(value: Value) -> Value:
    """What is asked whether it is 0; the answer, where it is a known number with a point."""
    known = _known(value) if isinstance(value, Op) else None
    return value if known is None else Const(int(known[0] != 0))


def without_point(value: Value) -> Value:
    """A number with a point in an integer type."""
    if isinstance(value, Op) and value.name == _AS_POINT and isinstance(value.args[0], Const):
        return value.args[0]
    integer = isinstance(value, Const) or is_integral_limit(value)
    return value if integer else Op(Operator.CALL, (value,), WITHOUT)


def is_integral_limit(value: Value) -> bool:
    """Is it a minimum or maximum of integers that the type with a point holds? ``conversions.limit_of_integers``"""
    if not isinstance(value, Op) or value.operator not in (Operator.MIN, Operator.MAX):
        return False
    return value.reading is not OperandType.UNKNOWN


def literal_with_point(text: str) -> Value:
    """``0.5f``: the same number wherever it stands."""
    found = literal_ratio(text)
    return Op(Operator.CALL, (), text) if found is None else _constant(found)


def is_whole(value: Value) -> bool:
    """Does its form say that it is an integer?"""
    if isinstance(value, Op):
        if value.operator in _ARITHMETIC:
            return all(map(is_whole, value.args))
        return value.operator in _WHOLE
    return isinstance(value, Const | Thread)
