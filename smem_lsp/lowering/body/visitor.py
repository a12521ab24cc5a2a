"""The visitor of a body as the rooms below it see it: see ``Lowering``."""

from __future__ import annotations

from smem_lsp.elaborate.value_categories import Given
from smem_lsp.ir.values import Value
from smem_lsp.lowering.body import (
    assignments,
    class_operators,
    expression_types,
    expressions,
    unknown_calls,
    value_categories,
)
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import LocalScope
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics.types import Type
from smem_lsp.syntax import tree


class Visitor:
    """Implements ``Lowering`` by the functions of this folder."""

    def operand(self, ctx: Context, expr: tree.Expr, scope: LocalScope) -> Value | Ref:
        return expressions.operand(ctx, expr, scope)

    def value(self, ctx: Context, expr: tree.Expr, scope: LocalScope) -> Value:
        return expressions.value(ctx, expr, scope)

    def number(self, ctx: Context, expr: tree.Expr, scope: LocalScope) -> Value:
        return expressions.number(ctx, expr, scope)

    def assign(self, ctx: Context, expr: tree.Assign, right: Value | Ref, scope: LocalScope) -> Value | Ref:
        return assignments.assign(ctx, expr, right, scope)

    def converted(self, ctx: Context, place: Ref, expr: tree.Expr) -> Value | Ref | None:
        return class_operators.of_shared(ctx, place, expr)

    def given(self, ctx: Context, expr: tree.Expr, scope: LocalScope) -> Given:
        return value_categories.given(ctx, expr, scope)

    def type_of(self, ctx: Context, expr: tree.Expr, scope: LocalScope) -> Type | None:
        return expression_types.of(ctx, expr, scope)

    def lend(self, ctx: Context, expr: tree.Expr, scope: LocalScope) -> None:
        unknown_calls.lend(ctx, expr, scope)

    def unknown_call(self, ctx: Context, expr: tree.Call, scope: LocalScope, name: str) -> Value:
        return unknown_calls.unknown_call(ctx, expr, scope, name)
