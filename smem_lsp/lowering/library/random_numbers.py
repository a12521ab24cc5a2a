"""Random numbers (cuRAND device API)."""

from __future__ import annotations

from smem_lsp.ir.values import Op, Operator, Value, Var
from smem_lsp.lowering.callees.intrinsics import STATE_MAKERS
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import LocalScope, Variable
from smem_lsp.syntax import tree


def random_call(ctx: Context, expr: tree.Call, name: str, scope: LocalScope) -> Value | None:
    """Functions that work on a random state, where that is a variable of the thread: ``curand_uniform(&state)``."""
    made = name in STATE_MAKERS
    if not expr.arguments:
        return None
    place = expr.arguments[-1]
    if not (isinstance(place, tree.Unary) and place.operator == "&" and isinstance(place.operand, tree.Name)):
        return None
    meaning = scope.lookup(place.operand.text)
    if not isinstance(meaning, Variable) or meaning.array or meaning.constant:
        return None
    values = [ctx.lower.value(ctx, argument, scope) for argument in expr.arguments[:-1]]
    if made:
        ctx.assign(meaning.index, Op(Operator.CALL, tuple(values), name))
        return ctx.out.fresh()
    result = ctx.variables.declare(name)
    ctx.assign(result, Op(Operator.CALL, (Var(meaning.index), *values), name))
    ctx.assign(meaning.index, Op(Operator.CALL, (Var(result),), "next"))
    return Var(result)
