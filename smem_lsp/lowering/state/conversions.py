"""What the implicit conversions of C do to numbers that operators get (C++ standard, [conv.integral])."""

from __future__ import annotations

from smem_lsp.ir.values import READS, Const, Op, Operator, Reading, Thread, Value, Var, operation
from smem_lsp.lowering.state.local_scope import LocalScope
from smem_lsp.semantics.arithmetic import common_type, promoted, ratio
from smem_lsp.semantics.evaluate import evaluate_value
from smem_lsp.semantics.types import Scalar, Type, scalar_of
from smem_lsp.syntax import tree

_FALLING = (Operator.SUBTRACT, Operator.NEGATE, Operator.BIT_NOT)
_UNREAD = (Operator.LOAD, Operator.READONLY, Operator.ELEMENT, Operator.MEMBER, Operator.CALL)
_FULL = frozenset(("__brev",))  # calls whose result needs the 32nd bit, which another type takes for a sign
_WORD = 0xFFFFFFFF
_WITH_POINT = 1 << 40
AS_POINT = "float"  # the function from an integer, or a result, to a number with a point
_LONGEST = 200  # tokens of an operand whose type is asked for
_OF_POINTS = (
    Operator.LESS,
    Operator.LESS_EQUAL,
    Operator.GREATER,
    Operator.GREATER_EQUAL,
    Operator.EQUAL,
    Operator.NOT_EQUAL,
    Operator.DIVIDE,
)
_ARITHMETIC = (Operator.ADD, Operator.SUBTRACT, Operator.MULTIPLY, Operator.DIVIDE, Operator.NEGATE)
_WHOLE = (
    Operator.REMAINDER,
    Operator.BIT_AND,
    Operator.BIT_OR,
    Operator.BIT_XOR,
    Operator.SHIFT_LEFT,
    Operator.SHIFT_RIGHT,
    Operator.BIT_NOT,
    Operator.AND,
    Operator.OR,
    Operator.NOT,
    *_OF_POINTS[:-1],
)
_WIDENING = (
    Operator.ADD,
    Operator.SUBTRACT,
    Operator.MULTIPLY,
    Operator.BIT_AND,
    Operator.BIT_OR,
    Operator.BIT_XOR,
)


def applied(
    operator: Operator, left: Value, right: Value, of: tuple[tree.Expr, tree.Expr], scope: LocalScope
) -> Value:
    """``left operator right``, as C's conversions have it. ``of``: the two expressions."""
    if operator in READS:
        if operator in _OF_POINTS and _have_points(left, right, of, scope):
            return _of_points(operator, left, right, of, scope)
        return _read(operator, left, right, of, scope)
    if operator in _WIDENING and of[0].hi - of[0].lo <= _LONGEST:
        left, right = in_common(left, right, of, scope)
    return operation(operator, left, right)


def _have_points(left: Value, right: Value, of: tuple[tree.Expr, tree.Expr], scope: LocalScope) -> bool:
    """Is one of two numbers of a floating-point type?"""
    return any(not _is_whole(each) and _has_point(expr, scope) for each, expr in zip((left, right), of))


def _has_point(expr: tree.Expr, scope: LocalScope) -> bool:
    if expr.hi - expr.lo > _LONGEST:
        return False
    kind = scalar_of(evaluate_value(expr, scope.constant_scope()).type)
    return kind is not None and kind.kind == "float"


def _is_whole(value: Value) -> bool:
    """Does its form say that it is an integer?"""
    if isinstance(value, Op):
        if value.operator in _ARITHMETIC:
            return all(map(_is_whole, value.args))
        return value.operator in _WHOLE
    return isinstance(value, Const | Thread)


def _with_point(value: Value, expr: tree.Expr, scope: LocalScope) -> Value:
    """A number in a floating-point type. Of the values of such variables, and of loaded ones, only the order counts, so
    integers stand for them. Between two integers lies no third one, but there may be numbers with a point: whatever is
    an integer here, or computed, is a number of which only this is known, that equal operands make it equal. 0 is 0."""
    if isinstance(value, Op) and value.operator is Operator.CONDITIONAL and isinstance(expr, tree.Ternary):
        yes, no = _with_point(value.args[1], expr.yes, scope), _with_point(value.args[2], expr.no, scope)
        return Op(Operator.CONDITIONAL, (value.args[0], yes, no))
    if isinstance(value, Op):
        inexact = value.operator in _ARITHMETIC or value.operator in _WHOLE
    else:
        inexact = isinstance(value, Thread) or (isinstance(value, Const) and value.n != 0)
        inexact = inexact or (isinstance(value, Var) and not _has_point(expr, scope))
    return Op(Operator.CALL, (value,), AS_POINT) if inexact else value


def literal_with_point(text: str) -> Value:
    """``0.5f``: the same number wherever it stands."""
    found = ratio(text)
    if found is None:
        return Op(Operator.CALL, (), text)
    numerator, denominator = found
    if denominator != 1:
        return Op(Operator.CALL, (Const(numerator), Const(denominator)), "float/")
    return Op(Operator.CALL, (Const(numerator),), AS_POINT) if numerator else Const(0)


def _of_points(
    operator: Operator, left: Value, right: Value, of: tuple[tree.Expr, tree.Expr], scope: LocalScope
) -> Value:
    """A quotient or a comparison of numbers with a point."""
    if operator is Operator.DIVIDE:
        return Op(Operator.CALL, (left, right), "float/")
    return operation(operator, _with_point(left, of[0], scope), _with_point(right, of[1], scope))


def in_common(
    left: Value, right: Value, of: tuple[tree.Expr, tree.Expr], scope: LocalScope
) -> tuple[Value, Value]:
    """Two operands in their common type: an unsigned one that may wrap is widened where the other has 64 bits."""
    constants = scope.constant_scope()
    found = [left, right]
    for number in (0, 1):
        if not _may_fall(found[number]):
            continue
        kind = promoted(evaluate_value(of[number], constants).type)
        if kind is not None and _is_word(kind):
            found[number] = converted(found[number], kind, evaluate_value(of[1 - number], constants).type)
    return found[0], found[1]


def _read(
    operator: Operator, left: Value, right: Value, of: tuple[tree.Expr, tree.Expr], scope: LocalScope
) -> Value:
    if not (_may_fall(left) or _may_fall(right)):
        return operation(operator, left, right)
    constants = scope.constant_scope()
    kinds = [promoted(evaluate_value(each, constants).type) for each in of]
    shift = operator is Operator.SHIFT_RIGHT
    common = kinds[0] if shift else common_type(*kinds)
    if not isinstance(common, Scalar):
        return operation(operator, left, right)
    if not shift:
        left, right = converted(left, kinds[0], common), converted(right, kinds[1], common)
    return operation(operator, left, right, reading=_reading(common))


def converted(value: Value, given: Type | None, wanted: Type | None) -> Value:
    """``value`` of one type in another: an unsigned number of 32 bits is not negative in one of 64."""
    narrow, wide = promoted(given), promoted(wanted)
    if narrow is None or wide is None or wide.kind != "int" or wide.size != 8 or not _is_word(narrow):
        return value
    return operation(Operator.BIT_AND, value, Const(_WORD)) if _may_fall(value) else value


def assigned(
    value: Value, expr: tree.Expr, wanted: Type | None, scope: LocalScope, *, exact: bool = True
) -> Value:
    """What a variable of type ``wanted`` gets that is assigned ``expr``. ``exact``: it keeps every integer of 32
    bits."""
    kind = scalar_of(wanted)
    if kind is not None and kind.kind == "float":
        return _with_point(value, expr, scope)
    if kind is not None and kind.kind == "int" and not _is_whole(value) and _has_point(expr, scope):
        if isinstance(value, Op) and value.name == AS_POINT and isinstance(value.args[0], Const):
            return value.args[0]
        return Op(Operator.CALL, (value,), "int")
    scalar = promoted(wanted) if exact else scalar_of(wanted)
    if scalar is not None and _is_full(value) and scalar.kind == "int" and scalar.signed and scalar.size == 4:
        return Op(Operator.CALL, (value,), "int")
    if scalar is None or (exact and (scalar.size != 8 or not _may_fall(value))):
        return value if exact else Op(Operator.CAST, (value,))
    given = evaluate_value(expr, scope.constant_scope()).type
    return converted(value, given, scalar) if exact else _narrowed(value, given, scalar)


def kept(value: Value, expr: tree.Expr, wanted: Type | None, scope: LocalScope) -> Value:
    """What is in memory of type ``wanted`` where ``expr`` is stored there: equal values are equal bytes. 0 has the same
    bytes in all types; another integer that is stored as a number with a point is one that no integer is equal to."""
    scalar = scalar_of(wanted)
    if scalar is None or value == Const(0):
        return value
    if scalar.kind in ("int", "bool"):
        return assigned(value, expr, wanted, scope, exact=scalar.kind == "int" and scalar.size >= 4)
    if scalar.kind != "float":
        return value
    given = scalar_of(evaluate_value(expr, scope.constant_scope()).type)
    whole = isinstance(value, Const) or (given is not None and given.kind in ("int", "bool"))
    return operation(Operator.ADD, value, Const(_WITH_POINT)) if whole else value


def _narrowed(value: Value, given: Type | None, wanted: Scalar) -> Value:
    """An integer in a type of less than 32 bits: its low bits, with the sign that they say."""
    number = scalar_of(given)
    if wanted.kind == "bool" and (number is None or number.kind in ("int", "bool")):
        return operation(Operator.NOT_EQUAL, value, Const(0))
    if number is None or number.kind not in ("int", "bool") or wanted.kind not in ("int", "bool"):
        return Op(Operator.CAST, (value,))
    half = 1 << 8 * wanted.size - 1
    if not wanted.signed:
        return operation(Operator.BIT_AND, value, Const(2 * half - 1))
    shifted = operation(Operator.ADD, value, Const(half))
    return operation(
        Operator.SUBTRACT, operation(Operator.BIT_AND, shifted, Const(2 * half - 1)), Const(half)
    )


def _reading(kind: Scalar) -> Reading:
    if kind.kind != "int" or kind.size > 8:
        return Reading.UNKNOWN
    if kind.size == 8:
        return Reading.LONG if kind.signed else Reading.UNSIGNED_LONG
    return Reading.INT if kind.signed else Reading.UNSIGNED


def _is_full(value: Value) -> bool:
    """Is it, as a signed number, perhaps a negative one?"""
    return isinstance(value, Op) and value.operator is Operator.CALL and value.name in _FULL


def _is_word(kind: Scalar) -> bool:
    return kind.kind == "int" and kind.size == 4 and not kind.signed


def _may_fall(value: Value) -> bool:
    """May operations make it negative, those before in a variable, too? Or so large that it depends on the type."""
    if isinstance(value, Op):
        if value.operator in _UNREAD:
            return _is_full(value)
        return value.operator in _FALLING or any(map(_may_fall, value.args))
    return value.n < 0 if isinstance(value, Const) else isinstance(value, Var)
