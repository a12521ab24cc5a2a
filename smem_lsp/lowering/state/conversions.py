"""What conversions between numbers make of values: the one place where those are applied that C++ leaves implicit.

A value of an unsigned type is C's but for a multiple of 2**bits until something reads it, one of a signed type is C's
(``terms.operators.OperandType``); one of a type of less than 32 bits is always C's.
"""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.elaborate.conversions import (
    Conversion,
    NumberConversion,
    bits_of,
    conversion,
    is_integer,
    range_of,
)
from smem_lsp.elaborate.expression_types import expression_type
from smem_lsp.ir import extents
from smem_lsp.ir.values import Const, Op, Value, Var, operation
from smem_lsp.lowering.state import floating_values
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.floating_values import (
    OF_POINTS,
    QUOTIENT,
    TRUTHS,
    is_whole,
    rounded,
    without_point,
)
from smem_lsp.lowering.state.local_scope import LocalScope
from smem_lsp.semantics.arithmetic import common_type, operate, promoted
from smem_lsp.semantics.entities import TypedConstant
from smem_lsp.semantics.floating_point import EXACT_BITS
from smem_lsp.semantics.types import DOUBLE, FLOAT, Enum, Scalar, Type, plain_type, scalar_of
from smem_lsp.syntax import tree
from smem_lsp.terms.extents import leaves
from smem_lsp.terms.operators import READS, OperandType, Operator

_FALLING = (Operator.SUBTRACT, Operator.NEGATE, Operator.BIT_NOT)
_UNREAD = (Operator.LOAD, Operator.READONLY, Operator.ELEMENT, Operator.MEMBER, Operator.CALL)
_WORD = 0xFFFFFFFF
_WITH_POINT = 1 << 40
_OF_BITS = 1 << 48
_INT = 4  # bytes
_FULL_BITS = (32, 64)
_WIDENING = (
    Operator.ADD,
    Operator.SUBTRACT,
    Operator.MULTIPLY,
    Operator.BIT_AND,
    Operator.BIT_OR,
    Operator.BIT_XOR,
)


# ---- operators -------------------------------------------------------------------------------------------------------


def applied(
    ctx: Context,
    operator: Operator,
    left: Value,
    right: Value,
    of: tuple[tree.Expr, tree.Expr],
    scope: LocalScope,
) -> Value:
    """``left operator right``, as C's conversions have it. ``of``: the two expressions."""
    if operator in READS:
        return _read(ctx, operator, left, right, of, scope)
    if operator is Operator.SHIFT_LEFT and isinstance(right, Const) and right.n >= _FULL_BITS[0]:
        kind = promoted(type_of(ctx, of[0], scope))
        if kind is not None and right.n >= bits_of(kind):
            return Op(Operator.CAST, (left,))  # it has no value ([expr.shift])
    if operator is Operator.SHIFT_LEFT and not extents.of_value(right).certain:
        kind = promoted(type_of(ctx, of[0], scope))
        shifted = operation(operator, left, right)
        return _read_as(shifted, kind) if kind is not None and kind.signed else shifted
    if operator in _WIDENING and (_may_leave(left) or _may_leave(right)):
        left, right = in_common(ctx, left, right, of, scope)
    return operation(operator, left, right)


def _read(
    ctx: Context,
    operator: Operator,
    left: Value,
    right: Value,
    of: tuple[tree.Expr, tree.Expr],
    scope: LocalScope,
) -> Value:
    """An operator whose result depends on the type that it reads its operands as."""
    leaving = _may_leave(left) or _may_leave(right)
    asked = operator in OF_POINTS and not (is_whole(left) and is_whole(right))
    if not (leaving or asked):
        return operation(operator, left, right)
    given = type_of(ctx, of[0], scope), type_of(ctx, of[1], scope)
    kinds = promoted(given[0]), promoted(given[1])
    if operator in OF_POINTS and "float" in (getattr(kind, "kind", "") for kind in kinds):
        together = common_type(*kinds)
        wanted = together if isinstance(together, Scalar) else DOUBLE
        if operator is Operator.DIVIDE:
            divided = Op(Operator.CALL, (left, right), QUOTIENT)
            return rounded(divided) if wanted == FLOAT else divided
        return floating_values.compared(
            operator,
            _to_real(ctx, left, of[0], given[0], wanted, scope),
            _to_real(ctx, right, of[1], given[1], wanted, scope),
        )
    shift = operator is Operator.SHIFT_RIGHT
    common = kinds[0] if shift else common_type(*kinds)
    if not leaving:
        return operation(operator, left, right)
    if not isinstance(common, Scalar):
        return operation(operator, _unread(left), right if shift else _unread(right))
    left = _wrapped(_integer(left, kinds[0], common), common)
    if not shift:
        right = _wrapped(_integer(right, kinds[1], common), common)
    return operation(operator, left, right, reading=reading_of(common))


def in_common(
    ctx: Context, left: Value, right: Value, of: tuple[tree.Expr, tree.Expr], scope: LocalScope
) -> tuple[Value, Value]:
    """Two operands in their common type ([expr.arith.conv])."""
    if not (_may_leave(left) or _may_leave(right)):
        return left, right
    kinds = promoted(type_of(ctx, of[0], scope)), promoted(type_of(ctx, of[1], scope))
    common = common_type(*kinds)
    if not isinstance(common, Scalar):
        return left, right
    if not is_integer(common):
        return _unsigned(left, kinds[0]), _unsigned(right, kinds[1])
    return _integer(left, kinds[0], common), _integer(right, kinds[1], common)


def counted(ctx: Context, value: Value, expr: tree.Expr, scope: LocalScope) -> Value:
    """The number of elements that an address is moved by: an unsigned one that wraps is small again."""
    if not isinstance(value, Op | Var):
        return value
    extent = extents.of_value(value)
    low, _, certain = extent
    if certain and low >= 0 and not leaves(extent, OperandType.INT):
        return value
    kind = promoted(type_of(ctx, expr, scope))
    if kind is None:
        return _unread(value)
    if not is_integer(kind):
        return value
    cut = _wrapped(value, kind)
    return cut if cut is not value or kind.signed else _read_as(value, kind)


def reading_of(kind: Type | None) -> OperandType:
    """As what an operator reads a number of this type."""
    found = promoted(kind)
    if found is None or found.kind != "int" or found.size > 8:
        return OperandType.UNKNOWN
    if found.size == 8:
        return OperandType.LONG if found.signed else OperandType.UNSIGNED_LONG
    return OperandType.INT if found.signed else OperandType.UNSIGNED


# ---- what gets a value -----------------------------------------------------------------------------------------------


def assigned(ctx: Context, value: Value, expr: tree.Expr, wanted: Type | None, scope: LocalScope) -> Value:
    """What a variable, a parameter, a result or a cast of type ``wanted`` makes of ``expr``."""
    number = scalar_of(plain_type(wanted))
    if number is None:
        return value
    if number.kind == "int" and bits_of(number) in _FULL_BITS and is_whole(value) and not _may_leave(value):
        return value
    given = type_of(ctx, expr, scope)
    if number.kind == "float":
        return _to_real(ctx, value, expr, given, number, scope)
    return converted(value, given, wanted)


def stepped(value: Value, kind: Type | None) -> Value:
    """What ``++`` and ``--`` make of a number of this type: they count in ``int`` where it is narrower."""
    return converted(value, promoted(kind), kind) if is_integer(scalar_of(plain_type(kind))) else value


def converted(value: Value, given: Type | None, wanted: Type | None) -> Value:
    """A value of one type in another."""
    change = conversion(given, wanted)
    if change.wanted is None:
        return _of_other_kind(value, given, wanted)
    match change.effect:
        case NumberConversion.TRUTH if isinstance(
            plain_type(wanted), Enum
        ):  # compilers do not agree (CWG 2338)
            found = _truth(value, change)
            return found if found in (value, Const(0)) else Op(Operator.CAST, (value,))
        case NumberConversion.TRUTH:
            return _truth(value, change)
        case NumberConversion.TO_REAL | NumberConversion.BETWEEN_REALS:
            return _as_real(value, change.given, change.wanted)
        case NumberConversion.OF_REAL:
            return without_point(value)
        case NumberConversion.SAME | NumberConversion.CUT if change.given is not None and is_integer(
            change.wanted
        ):
            return _integer(value, change.given, change.wanted)
        case NumberConversion.UNKNOWN:
            return _of_unknown(value, change.wanted)
    return value


def _of_other_kind(value: Value, given: Type | None, wanted: Type | None) -> Value:
    """In a class of numbers, ``__half``: nothing is known of what that makes of a number."""
    scalar = scalar_of(plain_type(wanted))
    number = scalar_of(plain_type(given))
    if scalar is None or scalar.size >= _INT or scalar == number:
        return value
    return Op(Operator.CAST, (value,))


def _of_unknown(value: Value, wanted: Scalar) -> Value:
    """Of a type that is not known: one that holds all numbers of a thread is taken to keep it."""
    if wanted.kind == "bool":
        return _is_true(value, OperandType.UNKNOWN)
    if wanted.kind == "float":
        return _as_real(value, None, wanted)
    if bits_of(wanted) == _FULL_BITS[0]:
        return _wrapped(value, wanted)
    if bits_of(wanted) == _FULL_BITS[1]:
        return Op(Operator.CAST, (value,)) if _falls(value) else _unread(value)
    return value if _fits(value, wanted) else Op(Operator.CAST, (value,))


def _truth(value: Value, change: Conversion) -> Value:
    return _is_true(value, reading_of(change.given) if _may_leave(value) else OperandType.UNKNOWN)


def _is_true(value: Value, reading: OperandType) -> Value:
    value = floating_values.is_true(value)
    if isinstance(value, Op) and value.operator in TRUTHS:
        return value
    return operation(Operator.NOT_EQUAL, value, Const(0), reading=reading)


def _integer(value: Value, given: Scalar | None, wanted: Scalar) -> Value:
    """An integer in an integer type ([conv.integral])."""
    if given is None or not is_integer(given) or not is_integer(wanted):
        return value
    if bits_of(wanted) not in _FULL_BITS:
        same = conversion(given, wanted).effect is NumberConversion.SAME
        return value if same or _fits(value, wanted) else _low_bits(value, wanted)
    if bits_of(wanted) > bits_of(given):
        if wanted.size == 8 and _is_word(given) and (_may_leave(value) or _shifts_freely(value)):
            return operation(Operator.BIT_AND, value, Const(_WORD))
        return _wrapped(value, given)  # what `<<` moved out of it is lost ([expr.shift]/2)
    cut = _wrapped(value, wanted)
    modulo = bits_of(given) <= bits_of(wanted) and (given.signed or not wanted.signed)
    if modulo or isinstance(cut, Const) or not _may_leave(cut):
        return cut
    return _read_as(cut, wanted)


def _read_as(value: Value, kind: Scalar) -> Value:
    """A number that is read as one of this type: who knows what is free in it cuts it, or names what must not wrap."""
    return Op(Operator.ADD, (value, Const(0)), reading=reading_of(kind))


def within_type(ctx: Context, value: Value, expr: tree.Expr, scope: LocalScope) -> Value:
    """The value of an expression that is asked whether it is 0, as its own type has it."""
    value = floating_values.is_true(value)
    if not isinstance(value, Op) or not _may_leave(value):
        return value
    kind = promoted(type_of(ctx, expr, scope))
    return _unread(value) if kind is None else _wrapped(value, kind)


def _wrapped(value: Value, kind: Scalar) -> Value:
    """A number of 32 or 64 bits that is surely too large for its type, or is meant to lose bits: what they say then."""
    reading = reading_of(kind)
    if reading is OperandType.UNKNOWN or not leaves(extents.of_value(value), reading):
        return value
    return _low_bits(value, kind)


def _unread(value: Value) -> Value:
    """A number of a type that is not known: one that is meant to lose bits may be any other in it. What one below zero
    is said to be, the analysis leaves open."""
    return Op(Operator.CAST, (value,)) if leaves(extents.of_value(value), OperandType.INT) else value


def _low_bits(value: Value, kind: Scalar) -> Value:
    """The low bits of an integer, with the sign that they say in a signed type."""
    half = 1 << bits_of(kind) - 1
    if not kind.signed:
        return operation(Operator.BIT_AND, value, Const(2 * half - 1))
    if isinstance(value, Const):
        return Const((value.n + half & 2 * half - 1) - half)
    shifted = operation(Operator.ADD, value, Const(half))
    return operation(
        Operator.SUBTRACT, operation(Operator.BIT_AND, shifted, Const(2 * half - 1)), Const(half)
    )


def low_24_bits(value: Value, *, signed: bool) -> Value:
    """What ``__mul24`` and ``__umul24`` take of a number. One that depends on what is free has no more: that is why
    they are called."""
    kind = Scalar("24 bits", 3, 1, "int", signed)
    low, high, _ = extents.of_value(value)
    least, most = range_of(kind)
    return value if least <= low and high <= most else _low_bits(value, kind)


def _fits(value: Value, kind: Scalar) -> bool:
    """Does an integer type hold it, whatever is free in it?"""
    low, high, certain = extents.of_value(value)
    least, most = range_of(kind)
    return certain and least <= low and high <= most


def limit_of_integers(ctx: Context, limit: Op, of: Sequence[tree.Expr], scope: LocalScope) -> Value:
    """``fminf(n, 64)``: a minimum or maximum of integers is one of them, if ``float`` holds them: one that is not known
    is taken for one that it holds."""
    kinds = [promoted(type_of(ctx, each, scope)) for each in of]
    common = common_type(*kinds) if len(kinds) == 2 else None
    if not isinstance(common, Scalar) or not is_integer(common):
        return limit
    most = 1 << EXACT_BITS
    for each in limit.args:
        low, high, certain = extents.of_value(each)
        if certain and (low < -most or high > most):
            return limit
    return operation(limit.operator, *limit.args, reading=reading_of(common))


def kept(ctx: Context, value: Value, expr: tree.Expr, wanted: Type | None, scope: LocalScope) -> Value:
    """What is in memory of type ``wanted`` where ``expr`` is stored there: equal values are equal bytes. 0 has the same
    bytes in all types; another integer that is stored as a number with a point is one that no integer is equal to."""
    scalar = scalar_of(plain_type(wanted))
    if scalar is None or value == Const(0):
        return value
    if is_integer(scalar):
        return assigned(ctx, value, expr, wanted, scope)
    if scalar.kind != "float":
        return value
    whole = isinstance(value, Const) or is_integer(scalar_of(type_of(ctx, expr, scope)))
    return operation(Operator.ADD, value, Const(_WITH_POINT)) if whole else value


def among_bits(value: Value, first: int) -> Value:
    """What is in a memory location where a bit-field is assigned that begins at this bit of its class: equal where the
    same one gets the same number, and no integer."""
    return operation(Operator.ADD, value, Const(_OF_BITS * (first + 1)))


# ---- numbers with a point --------------------------------------------------------------------------------------------


def _to_real(
    ctx: Context, value: Value, expr: tree.Expr, given: Type | None, wanted: Scalar, scope: LocalScope
) -> Value:
    """A number in the floating-point type ``wanted``; of a choice, what is chosen."""
    if isinstance(value, Op) and value.operator is Operator.CONDITIONAL and isinstance(expr, tree.Ternary):
        yes, no = (
            _to_real(ctx, each, arm, type_of(ctx, arm, scope), wanted, scope)
            for each, arm in zip(value.args[1:], (expr.yes, expr.no))
        )
        return Op(Operator.CONDITIONAL, (value.args[0], yes, no))
    return _as_real(value, scalar_of(given), wanted)


def _unsigned(value: Value, given: Scalar | None) -> Value:
    """An integer that becomes a number with a point: an unsigned one is not negative."""
    if given is None or not _is_word(given) or not _may_leave(value):
        return value
    return operation(Operator.BIT_AND, value, Const(_WORD))


def _as_real(value: Value, given: Scalar | None, wanted: Scalar) -> Value:
    return floating_values.in_real(_unsigned(value, given), given, wanted)


# ---- what is asked of values and types -------------------------------------------------------------------------------


def computed_type(ctx: Context, expr: tree.Assign, scope: LocalScope) -> Type | None:
    """The type of what ``a op= b`` computes before it is converted to that of ``a`` ([expr.ass])."""
    target, value = (TypedConstant(type_of(ctx, each, scope)) for each in (expr.target, expr.value))
    return operate(expr.operator.removesuffix("="), target, value).type


def type_of(ctx: Context, expr: tree.Expr, scope: LocalScope) -> Type | None:
    """The type of an expression, also where functions decide it."""
    found = expression_type(expr, scope.constant_scope())
    return ctx.lower.type_of(ctx, expr, scope) if found is None else found


def keeps_integers(kind: Type | None) -> bool:
    """Does a variable of this type hold any 32-bit integer unchanged? One that is not known is taken to."""
    found = scalar_of(plain_type(kind))
    return found is None or found.kind == "other" or (found.kind == "int" and bits_of(found) in _FULL_BITS)


def _is_word(kind: Scalar) -> bool:
    return kind.kind == "int" and kind.size == _INT and not kind.signed


def _may_leave(value: Value) -> bool:
    """May it be one that depends on the type: below 0, or beyond 32 bits? A variable may hold such a number."""
    return _may_fall(value) or leaves(extents.of_value(value), OperandType.INT)


def _shifts_freely(value: Value) -> bool:
    """Is something in it shifted to the left by nobody knows how much?"""
    if not isinstance(value, Op) or value.operator in _UNREAD:
        return False
    if value.operator is Operator.SHIFT_LEFT and not extents.of_value(value.args[1]).certain:
        return True
    return any(map(_shifts_freely, value.args))


def _falls(value: Value) -> bool:
    """Is it made of differences, which may be below zero?"""
    if isinstance(value, Op):
        return value.operator not in _UNREAD and (value.operator in _FALLING or any(map(_falls, value.args)))
    return isinstance(value, Const) and value.n < 0


def _may_fall(value: Value) -> bool:
    if isinstance(value, Op):
        return value.operator not in _UNREAD and (
            value.operator in _FALLING or any(map(_may_fall, value.args))
        )
    return value.n < 0 if isinstance(value, Const) else isinstance(value, Var)
