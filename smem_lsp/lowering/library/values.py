"""Functions that look at the values of their arguments and at nothing else."""

from __future__ import annotations

from smem_lsp.ir.nodes import AccessKind
from smem_lsp.ir.values import Const, Op, Operator, Reading, Value, operation, operator_of
from smem_lsp.lowering.callees.intrinsics import LOADS, TIMED, is_limit, is_pure
from smem_lsp.lowering.state import conversions
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import LocalScope
from smem_lsp.semantics.types import vector_element
from smem_lsp.syntax import tree

# Limits of integers, and as what they read them (CUDA math API, "Integer Mathematical Functions"); unknown: as the
# common type of both.
_LIMITS = {
    f"{kind}{operator.spelling}": (operator, reading)
    for kind, reading in {
        "": Reading.UNKNOWN,
        "u": Reading.UNSIGNED,
        "ll": Reading.LONG,
        "ull": Reading.UNSIGNED_LONG,
    }.items()
    for operator in (Operator.MIN, Operator.MAX)
}
_LIMITS |= {f"__{name}": _LIMITS[name] for name in ("min", "max")}  # of HIP and of older CUDA samples
_PRODUCTS = frozenset(("__mul24", "__umul24"))  # of the low 24 bits
_COMPONENTS = "xyzw"
_LOGARITHMS = frozenset(("log2", "log2f", "__log2f"))
_FLOATING_LIMITS = frozenset(("fmin", "fmax", "fminf", "fmaxf"))
_EXACT = 1 << 24  # integers that a float keeps: a limit below leaves what is larger as large as it has to be


def value_call(ctx: Context, expr: tree.Call, name: str, scope: LocalScope) -> Value:
    """A function for which ``takes_values`` holds; lanes of a warp may exchange their arguments."""
    if not expr.arguments and isinstance(expr.callee, tree.Name) and is_limit(expr.callee.text):
        return ctx.out.fresh(uniform=True)
    if name in LOADS:
        values = arguments_of(ctx, expr, scope)
    else:
        values = [ctx.lower.number(ctx, argument, scope) for argument in expr.arguments]
    if ctx.dialect.exchanges.fullmatch(name):
        mask = values[0] if values and name.endswith("_sync") else None
        ctx.out.exchange(expr.lo, expr.hi, name, mask, () if mask is None else tuple(values[1:]))
    if name in _LOGARITHMS and len(values) == 1:
        power = _exponent(values[0], expr.arguments[0])
        if power is not None:
            return Const(power)
    limit = _LIMITS.get(name)
    if limit is not None and len(values) == 2:
        operator, reading = limit
        if reading is not Reading.UNKNOWN:
            return operation(operator, *values, reading=reading)
        return conversions.applied(
            operator, values[0], values[1], (expr.arguments[0], expr.arguments[1]), scope
        )
    made = result_of(ctx, name, values)
    element = vector_element(name.removeprefix("make_")) if name.startswith("make_") else None
    if element is None or element.kind != "int" or len(values) > len(_COMPONENTS):
        return made
    for component, value, given in zip(_COMPONENTS, values, expr.arguments):
        made = Op(Operator.SET_MEMBER, (made, conversions.assigned(value, given, element, scope)), component)
    return made


def arguments_of(ctx: Context, expr: tree.Call, scope: LocalScope) -> list[Value]:
    """The values of the arguments of a call."""
    return [ctx.lower.value(ctx, argument, scope) for argument in expr.arguments]


def result_of(ctx: Context, name: str, arguments: list[Value]) -> Value:
    """What a function returns that only looks at its arguments."""
    if name in LOADS and len(arguments) == 1:
        ctx.out.touch(AccessKind.READ, arguments[0], Const(0))
        return Op(Operator.READONLY if name == "__ldg" else Operator.LOAD, tuple(arguments))
    if "threadfence" in name or name in TIMED:
        ctx.outside.signal()  # other blocks may rely on what it orders, or it tells when it runs
    elif name.removeprefix("::").startswith("surf"):
        ctx.out.touch(AccessKind.READ)
        ctx.out.touch(AccessKind.WRITE)
    if not arguments or not is_pure(name):
        return ctx.out.fresh()
    if name in _PRODUCTS and len(arguments) == 2:
        signed = name == "__mul24"
        return operation(
            Operator.MULTIPLY, *(conversions.low_24_bits(each, signed=signed) for each in arguments)
        )
    if name in ("abs", "labs", "llabs") and len(arguments) == 1:
        reading = Reading.INT if name == "abs" else Reading.LONG
        return operation(Operator.MAX, arguments[0], operation(Operator.NEGATE, *arguments), reading=reading)
    if name in _FLOATING_LIMITS and any(isinstance(a, Const) and abs(a.n) <= _EXACT for a in arguments):
        return Op(operator_of(name[1:4]), tuple(arguments))
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
