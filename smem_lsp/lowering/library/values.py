"""Functions that look at the values of their arguments and at nothing else."""

from __future__ import annotations

from smem_lsp.ir.nodes import AccessKind
from smem_lsp.ir.values import Const, Op, Operator, Value, operator_of
from smem_lsp.lowering.callees.intrinsics import LOADS, is_pure
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import LocalScope
from smem_lsp.syntax import tree

_FLOATING_LIMITS = frozenset(("fmin", "fmax", "fminf", "fmaxf"))
_EXACT = 1 << 24  # integers that a float keeps: a limit below leaves what is larger as large as it has to be


def value_call(ctx: Context, expr: tree.Call, name: str, scope: LocalScope) -> Value:
    """A function for which ``takes_values`` holds; lanes of a warp may exchange their arguments."""
    values = arguments_of(ctx, expr, scope)
    if ctx.dialect.exchanges.fullmatch(name):
        mask = values[0] if values and name.endswith("_sync") else None
        ctx.out.exchange(expr.lo, expr.hi, name, mask)
    return result_of(ctx, name, values)


def arguments_of(ctx: Context, expr: tree.Call, scope: LocalScope) -> list[Value]:
    """The values of the arguments of a call."""
    return [ctx.lower.value(ctx, argument, scope) for argument in expr.arguments]


def result_of(ctx: Context, name: str, arguments: list[Value]) -> Value:
    """What a function returns that only looks at its arguments."""
    if name in LOADS and len(arguments) == 1:
        ctx.out.touch(AccessKind.READ, arguments[0], Const(0))
        return Op(Operator.READONLY if name == "__ldg" else Operator.LOAD, tuple(arguments))
    if not arguments or not is_pure(name):
        return ctx.out.fresh()
    if name in ("min", "max") and len(arguments) == 2:
        return Op(operator_of(name), tuple(arguments))
    if name in _FLOATING_LIMITS and any(isinstance(a, Const) and abs(a.n) <= _EXACT for a in arguments):
        return Op(operator_of(name[1:4]), tuple(arguments))
    return Op(Operator.CALL, tuple(arguments), name)
