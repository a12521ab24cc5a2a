"""Functions that look at the values of their arguments and at nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from smem_lsp.elaborate.conversions import bits_of
from smem_lsp.ir.nodes import AccessKind
from smem_lsp.ir.values import Const, Op, Value, operation
from smem_lsp.lowering.callees.intrinsics import declared, has, is_limit, is_pure, value_of
from smem_lsp.lowering.state import conversions
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import LocalScope
from smem_lsp.semantics.intrinsics import parameter_type
from smem_lsp.semantics.types import (
    INT,
    INTEGERS,
    LONG,
    UNSIGNED,
    Type,
    plain_type,
    scalar_of,
    vector_element,
)
from smem_lsp.syntax import tree
from smem_lsp.terms.bit_functions import VALUES, BitFunction, bit_function
from smem_lsp.terms.operators import OperandType, Operator

_LIMITS = {"minimum": Operator.MIN, "maximum": Operator.MAX}
_COMPONENTS = "xyzw"
_FLOATING_LIMITS = {"floating_minimum": Operator.MIN, "floating_maximum": Operator.MAX}
_EXACT = 1 << 24  # integers that a float keeps: a limit below leaves what is larger as large as it has to be
# how a function reads its arguments
_READINGS: Mapping[Type | None, OperandType] = {
    INT: OperandType.INT,
    UNSIGNED: OperandType.UNSIGNED,
    LONG: OperandType.LONG,
    INTEGERS["long long"]: OperandType.LONG,
    INTEGERS["unsigned long long"]: OperandType.UNSIGNED_LONG,
}
# what a function of bits takes: its bits count, whatever their sign
_OPERANDS: Mapping[int, Type] = {
    bits_of(each): each for each in (INTEGERS["unsigned short"], UNSIGNED, INTEGERS["unsigned long long"])
}
_FUNNELS = ("funnel_left", "funnel_right")
_LOADS = {"load": Operator.LOAD, "readonly": Operator.READONLY}  # `readonly`: of what nobody writes meanwhile
# `product` multiplies the low 24 bits of its operands. Of an atomic operation and of an address (``addresses.py``)
# the others are.
KNOWN = frozenset(
    (
        *(*_LIMITS, *_FLOATING_LIMITS, *_LOADS, *_FUNNELS, *VALUES),
        *("product", "absolute", "absolute_difference", "log2"),
        *("sum", "difference", "exchange_if_equal", "address", "first"),
    )
)
"""Every ``value(...)`` of the stub files that has code."""


def value_call(ctx: Context, expr: tree.Call, name: str, scope: LocalScope) -> Value:
    """A function for which ``takes_values`` holds; lanes of a warp may exchange their arguments."""
    if not expr.arguments and isinstance(expr.callee, tree.Name) and is_limit(expr.callee.text):
        return ctx.out.fresh(uniform=True)
    values = [ctx.lower.number(ctx, argument, scope) for argument in expr.arguments]
    note_exchange(ctx, expr, name, values)
    function = _of_bits(ctx, expr, name, scope)
    if function is not None and len(values) == 1:
        given, wanted = expr.arguments[0], _OPERANDS[function.bits]
        return Op(Operator.CALL, (conversions.assigned(ctx, values[0], given, wanted, scope),), function.name)
    value = value_of(name)
    if value == "log2" and len(values) == 1:
        power = _exponent(values[0], expr.arguments[0])
        if power is not None:
            return Const(power)
    if value == "absolute_difference" and len(values) == 3:
        return _absolute_difference(ctx, expr, name, values, scope)
    if value in _FUNNELS and len(values) == 3:
        return _funnel(ctx, expr, name, values, scope)
    if value in _LIMITS and len(values) == 2:
        reading = _reading(name)
        if reading is not OperandType.UNKNOWN:
            return operation(_LIMITS[value], *values, reading=reading)
        return conversions.applied(
            ctx, _LIMITS[value], values[0], values[1], (expr.arguments[0], expr.arguments[1]), scope
        )
    made = result_of(ctx, name, values)
    if value in _FLOATING_LIMITS and isinstance(made, Op) and made.operator is _FLOATING_LIMITS[value]:
        return conversions.limit_of_integers(ctx, made, expr.arguments, scope)
    element = vector_element(name.removeprefix("make_")) if name.startswith("make_") else None
    if element is None or element.kind != "int" or len(values) > len(_COMPONENTS):
        return made
    for component, number, given in zip(_COMPONENTS, values, expr.arguments):
        made = Op(
            Operator.SET_MEMBER, (made, conversions.assigned(ctx, number, given, element, scope)), component
        )
    return made


def _absolute_difference(
    ctx: Context, expr: tree.Call, name: str, values: Sequence[Value], scope: LocalScope
) -> Value:
    """``|x - y| + z`` of the numbers that the parameters get: the larger without the smaller does not wrap."""
    declaration = declared(name)[0]
    x, y, z = (
        conversions.assigned(ctx, value, given, parameter_type(declaration, at), scope)
        for at, (value, given) in enumerate(zip(values, expr.arguments))
    )
    reading = _reading(name)
    larger, smaller = (operation(each, x, y, reading=reading) for each in (Operator.MAX, Operator.MIN))
    return operation(Operator.ADD, operation(Operator.SUBTRACT, larger, smaller), z)


def _funnel(ctx: Context, expr: tree.Call, name: str, values: Sequence[Value], scope: LocalScope) -> Value:
    """The high 32 bits of ``high:low << count``, or the low ones of ``high:low >> count``. Five bits count.
    What comes in from the other word moves by ``32 - count`` in two steps, since no shift by 32 has a value."""
    low, high, count = (
        conversions.assigned(ctx, value, given, UNSIGNED, scope)
        for value, given in zip(values, expr.arguments)
    )
    by = operation(Operator.BIT_AND, count, Const(31))
    rest = operation(Operator.SUBTRACT, Const(31), by)

    def left(n: Value, count: Value) -> Value:
        return operation(Operator.SHIFT_LEFT, n, count)

    def right(n: Value, count: Value) -> Value:
        return operation(Operator.SHIFT_RIGHT, n, count, reading=OperandType.UNSIGNED)

    if value_of(name) == "funnel_left":
        parts = left(high, by), right(right(low, Const(1)), rest)
    else:
        parts = left(left(high, Const(1)), rest), right(low, by)
    return operation(Operator.ADD, *parts)


def _of_bits(ctx: Context, expr: tree.Call, name: str, scope: LocalScope) -> BitFunction | None:
    """The function of bits that a name means, whatever a library calls it; None: it means another one. Of those of
    the standard library it is the one for the width of its argument ([bit.count])."""
    found = declared(name)
    if not found or found[0].value not in VALUES or len(expr.arguments) != 1:
        return None
    if len(found) > 1:
        return _for_operand(found[0].value, conversions.type_of(ctx, expr.arguments[0], scope))
    kind = scalar_of(parameter_type(found[0], 0))
    return None if kind is None else bit_function(found[0].value, bits_of(kind))


def _for_operand(value: str, operand: Type | None) -> BitFunction | None:
    """The function of ``<bit>`` with ``value(...)`` for an operand of this type ([bit.count]); None: not known."""
    kind = scalar_of(plain_type(operand))
    unsigned = kind is not None and kind.kind == "int" and not kind.signed and not kind.bits
    return bit_function(value, 8 * kind.size) if kind is not None and unsigned else None


def note_exchange(ctx: Context, expr: tree.Call, name: str, values: Sequence[Value]) -> None:
    """Lanes of a warp exchange ``values`` where the function is one of those by which they do."""
    if ctx.dialect.exchanges.fullmatch(name):
        mask = values[0] if values and name.endswith("_sync") else None
        ctx.out.exchange(expr.lo, expr.hi, name, mask, () if mask is None else tuple(values[1:]))


def _reading(name: str) -> OperandType:
    """As what a function reads its arguments; unknown: as the common type of them, since others have its name."""
    found = declared(name)
    return (
        _READINGS.get(parameter_type(found[0], 0), OperandType.UNKNOWN)
        if len(found) == 1
        else OperandType.UNKNOWN
    )


def arguments_of(ctx: Context, expr: tree.Call, scope: LocalScope) -> list[Value]:
    """The values of the arguments of a call."""
    return [ctx.lower.value(ctx, argument, scope) for argument in expr.arguments]


def result_of(ctx: Context, name: str, arguments: list[Value]) -> Value:
    """What a function returns that only looks at its arguments."""
    value = value_of(name)
    if value in _LOADS and len(arguments) == 1:
        ctx.out.touch(AccessKind.READ, arguments[0], Const(0))
        return Op(_LOADS[value], tuple(arguments))
    if has(name, "fence", "time"):
        ctx.outside.signal()  # other blocks may rely on what it orders, or it tells when it runs
    elif has(name, "surface"):
        ctx.out.touch(AccessKind.READ)
        ctx.out.touch(AccessKind.WRITE)
    if not arguments or not is_pure(name):
        return ctx.out.fresh()
    if value == "product" and len(arguments) == 2:
        signed = parameter_type(declared(name)[0], 0) == INT
        return operation(
            Operator.MULTIPLY, *(conversions.low_24_bits(each, signed=signed) for each in arguments)
        )
    if value == "absolute" and len(arguments) == 1:
        reading = _READINGS.get(parameter_type(declared(name)[0], 0), OperandType.UNKNOWN)
        return operation(Operator.MAX, arguments[0], operation(Operator.NEGATE, *arguments), reading=reading)
    if value in _FLOATING_LIMITS and any(isinstance(a, Const) and abs(a.n) <= _EXACT for a in arguments):
        return Op(_FLOATING_LIMITS[value], tuple(arguments))
    return Op(Operator.CALL, tuple(arguments), name)


def _exponent(value: Value, expr: tree.Expr) -> int | None:
    """n of the constant 2**n; None: another number, or not known."""
    number = value.n if isinstance(value, Const) else None
    if isinstance(expr, tree.Number) and number is None:
        whole, point, rest = expr.text.rstrip("fFlL").partition(".")
        number = int(whole) if whole.isdecimal() and point and not rest.strip("0") else None
    power_of_two = number is not None and number > 0 and number & (number - 1) == 0
    return number.bit_length() - 1 if number is not None and power_of_two else None


def made_by(expr: tree.Expr) -> tuple[tree.Name | None, list[tree.Expr]]:
    """(name of the class, arguments) of an expression that may make an object."""
    match expr:
        case tree.Call(callee=tree.Name() as name):
            return name, expr.arguments
        case tree.Cast(style="functional", type=tree.TypeId(names=[name], pointers=[])):
            operand = expr.operand
            return name, operand.items if isinstance(operand, tree.Braces) else [operand]
    return None, []
