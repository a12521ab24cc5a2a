"""Random numbers (cuRAND device API)."""

from __future__ import annotations

from smem_lsp.ir.nodes import AccessKind
from smem_lsp.ir.values import Op, Value, Var
from smem_lsp.lowering.callees.library_names import RANDOM_STATE
from smem_lsp.lowering.state import effects
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import BufferName, LocalScope, Variable
from smem_lsp.lowering.state.places import Ref
from smem_lsp.syntax import tree
from smem_lsp.terms.operators import Operator


def random_call(ctx: Context, expr: tree.Call, name: str, scope: LocalScope) -> Value | None:
    """Functions that work on a random state, where that is a variable of the thread, ``curand_uniform(&state)``, or in
    shared memory."""
    made = RANDOM_STATE.has(name, ctx.dialect)
    if not expr.arguments:
        return None
    place = expr.arguments[-1]
    if _is_shared(ctx, place, scope):
        return _shared_state(ctx, expr, scope)
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


def _is_shared(ctx: Context, place: tree.Expr, scope: LocalScope) -> bool:
    """Does an address lead into shared memory, as far as its spelling shows?"""
    while isinstance(place, (tree.Unary, tree.Index, tree.Member)):
        place = place.operand if isinstance(place, tree.Unary) else place.base
    if isinstance(place, tree.Binary):
        return _is_shared(ctx, place.left, scope) or _is_shared(ctx, place.right, scope)
    meaning = scope.lookup(place.text) if isinstance(place, tree.Name) else None
    if isinstance(meaning, Variable):
        return ctx.pointed(meaning) is not None
    return isinstance(meaning, BufferName)


def _shared_state(ctx: Context, expr: tree.Call, scope: LocalScope) -> Value:
    """The state is read and written, by no atomic operation, and its address is not kept."""
    *values, place = expr.arguments
    for argument in values:
        ctx.lower.value(ctx, argument, scope)
    found = effects.load(ctx, ctx.lower.operand(ctx, place, scope), place)
    if isinstance(found, Ref):
        ctx.access(found.place(), AccessKind.UPDATE, place.lo, place.hi, plain=True)
    return ctx.out.fresh()
