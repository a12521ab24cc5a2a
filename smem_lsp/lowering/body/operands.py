"""Expressions of which only the operands count: lists in braces, launches, ``new``, expansions of packs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.ir.nodes import Branch, Seq
from smem_lsp.ir.values import Value
from smem_lsp.lowering.body import implicit_calls, lifetimes
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.effects import name_buffers
from smem_lsp.lowering.state.local_scope import LocalScope
from smem_lsp.syntax import tree


def braces(ctx: Context, expr: tree.Braces, scope: LocalScope) -> Value:
    return _run(ctx, expr.items, scope)


def launch(ctx: Context, expr: tree.Launch, scope: LocalScope) -> Value:
    return _run(ctx, (*expr.configuration, *expr.arguments), scope)


def _run(ctx: Context, operands: Iterable[tree.Expr], scope: LocalScope) -> Value:
    """Only what the operands do counts."""
    for each in operands:
        ctx.lower.value(ctx, each, scope)
    return ctx.out.fresh()


def opaque(ctx: Context, expr: tree.Opaque, scope: LocalScope) -> Value:
    return MEANINGS[expr.kind](ctx, expr, scope)


def _operands(ctx: Context, expr: tree.Opaque, scope: LocalScope) -> Value:
    return _run(ctx, expr.operands, scope)


def _allocation(ctx: Context, expr: tree.Opaque, scope: LocalScope) -> Value:
    made = _run(ctx, expr.operands, scope)
    implicit_calls.allocation(ctx, expr, scope)
    return made


def _statement_expression(ctx: Context, expr: tree.Opaque, scope: LocalScope) -> Value:
    _note_unread(ctx, expr, scope, CauseKind.STATEMENT_EXPRESSION)
    return _run(ctx, expr.operands, scope)


def _pack(ctx: Context, expr: tree.Opaque, scope: LocalScope) -> Value:
    return _expanded(ctx, expr, expr.operands, scope)


def fold(ctx: Context, expr: tree.Binary, scope: LocalScope) -> Value | None:
    """``(a + ...)``, ``(0 + ... + a)``; None: an operator of two operands."""
    sides = expr.left, expr.right
    inner = expr.left
    if isinstance(inner, tree.Binary) and inner.operator == expr.operator and _is_ellipsis(inner.right):
        sides = inner.left, expr.right
    elif not any(map(_is_ellipsis, sides)):
        return None
    return _expanded(ctx, expr, sides, scope)


def _is_ellipsis(expr: tree.Expr) -> bool:
    return isinstance(expr, tree.Opaque) and expr.kind == "pack" and not expr.operands


def _expanded(ctx: Context, expr: tree.Expr, held: Iterable[tree.Expr], scope: LocalScope) -> Value:
    """What an expansion holds runs once for each element of the pack, perhaps never ([temp.variadic])."""
    point = ctx.out.next_point()
    with ctx.out.collect() as emitted, lifetimes.arm(ctx):
        found = _run(ctx, held, scope)
    if emitted:
        where = ctx.at.span(expr.lo, expr.hi), ctx.at.line(expr.lo)
        ctx.out.emit(Branch(point, ctx.out.fresh(uniform=True), Seq(tuple(emitted)), Seq(), *where))
        _note_unread(ctx, expr, scope, CauseKind.PACK_EXPANSION)
    return found


def _note_unread(ctx: Context, expr: tree.Expr, scope: LocalScope, what: CauseKind) -> None:
    first, last = ctx.at.base + expr.lo, ctx.at.base + expr.hi
    name_buffers(ctx, first, last, scope, Cause(CauseKind.IN_EXPRESSION, of=(Cause(what),)))
    ctx.limits.note(CauseKind.UNREAD_EXPRESSION, ctx.at.line(expr.lo), of=Cause(what))


MEANINGS: Mapping[str, Callable[[Context, tree.Opaque, LocalScope], Value]] = tree.total(
    tree.OpaqueKind,
    {
        "new": _allocation,
        "delete": _allocation,
        "pack": _pack,
        "range": _operands,
        "statement-expression": _statement_expression,
        "throw": _operands,
    },
)
"""What each kind of these means."""
