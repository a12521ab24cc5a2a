"""``std::swap`` and its kin: two assignments, each of what the other side was before."""

from __future__ import annotations

from smem_lsp.ir.values import Value
from smem_lsp.lowering.state import effects
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import LocalScope
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics.evaluate import evaluate_value
from smem_lsp.semantics.types import Pointer, Scalar, plain_type
from smem_lsp.syntax import tree

_LIBRARIES = frozenset(
    ("std::swap", "cuda::std::swap", "thrust::swap", "swap")
)  # the last one by a using-directive


def swap_call(ctx: Context, expr: tree.Call, _name: str, scope: LocalScope) -> Value | Ref | None:
    """``std::swap(a, b)`` of two numbers or pointers, local or shared; None: of objects, or another function."""
    callee = expr.callee
    if (
        not isinstance(callee, tree.Name)
        or callee.text.lstrip(":") not in _LIBRARIES
        or len(expr.arguments) != 2
    ):
        return None
    with ctx.out.collect() as items:
        found = [ctx.lower.operand(ctx, each, scope) for each in expr.arguments]
    if not all(_is_plain(value, each, scope) for value, each in zip(found, expr.arguments)):
        return None
    for item in items:
        ctx.out.emit(item)
    loaded = [effects.load(ctx, value, each) for value, each in zip(found, expr.arguments)]
    first, second = (ctx.frozen(each) if isinstance(each, Ref) else ctx.frozen_value(each) for each in loaded)
    left, right = expr.arguments
    ctx.lower.assign(ctx, tree.Assign(expr.lo, expr.hi, "=", left, right), second, scope)
    ctx.lower.assign(ctx, tree.Assign(expr.lo, expr.hi, "=", right, left), first, scope)
    return ctx.out.fresh()


def _is_plain(found: Value | Ref, expr: tree.Expr, scope: LocalScope) -> bool:
    """Is it a number or a pointer?"""
    if isinstance(found, Ref) and found.pointer:
        return True
    shared = isinstance(found, Ref) and not found.shape and not found.unclear
    kind = (
        found.kind if isinstance(found, Ref) and shared else evaluate_value(expr, scope.constant_scope()).type
    )
    return isinstance(plain_type(kind), Pointer | Scalar)
