"""The type of an expression where functions decide it: what a call, an operator or a member of an object returns."""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.elaborate import operators
from smem_lsp.elaborate.returned_types import returned_by_function
from smem_lsp.lowering.body import methods, objects
from smem_lsp.lowering.callees import overloads
from smem_lsp.lowering.state import effects
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import LocalScope, This, View
from smem_lsp.semantics.types import Pointer, Record, Type, plain_type
from smem_lsp.source import checkpoint
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function


def of(ctx: Context, expr: tree.Expr, scope: LocalScope) -> Type | None:
    """The type of an expression; None: not known."""
    checkpoint()
    designated = effects.designated(ctx, expr, scope)
    known = None if designated is None or designated.array else objects.seen_as(ctx, designated)
    if known is not None:
        return known
    found = plain_type(overloads.argument_type(ctx, expr, scope))
    if found is not None:
        return found
    match expr:
        case tree.Name() if isinstance(view := scope.lookup(expr.text), View):
            return None if view.target.shape or view.target.pointer else plain_type(view.target.kind)
        case tree.Name() if isinstance(this := scope.lookup(expr.text), This):
            return Pointer(this.record)
        case tree.Unary(operator="*", operand=tree.Name(text="this")):
            this = scope.lookup("this")
            return this.record if isinstance(this, This) else None
        case tree.Index():
            return _of_operator(ctx, "[]", (expr.base, expr.index), expr, scope)
        case tree.Binary():
            return _of_operator(ctx, expr.operator, (expr.left, expr.right), expr, scope)
        case tree.Unary():
            return _of_operator(ctx, expr.operator, (expr.operand,), expr, scope)
        case tree.Call(callee=tree.Name() as callee) if scope.lookup(callee.text) is None:
            called = overloads.candidates(ctx, callee, expr, scope)
            if len(called) == 1:
                return plain_type(returned_by_function(called[0].function, called[0].scope(ctx, {})))
        case tree.Call(callee=tree.Member(operator=".") as member):
            return _of_method(ctx, member.base, member.name, expr.arguments, expr, scope)
        case tree.Call(callee=tree.Name() as callee):
            return _of_method(ctx, callee, "operator()", expr.arguments, expr, scope)
    return None


def _of_operator(
    ctx: Context, symbol: str, operands: Sequence[tree.Expr], expr: tree.Expr, scope: LocalScope
) -> Type | None:
    kinds = [of(ctx, operand, scope) for operand in operands]
    first = kinds[0]
    if symbol in ("[]", "*") and isinstance(first, Pointer):
        return plain_type(first.target)
    if not any(isinstance(kind, Record) for kind in kinds):
        return None
    if isinstance(first, Record):
        found = _of_method(ctx, operands[0], f"operator{symbol}", operands[1:], expr, scope)
        if found is not None:
            return found
    free = operators.free_candidates(
        spelled(ctx, symbol, expr), [k for k in kinds if isinstance(k, Record)], ctx.at.unit.symbols.types
    )
    name = tree.Name(expr.lo, expr.hi, f"operator{symbol}")
    fitting = [each for each in free if overloads.takes(each, len(operands))]
    call = tree.Call(expr.lo, expr.hi, name, list(operands))
    fitting = overloads.by_type(ctx, fitting, call, scope)
    if len(fitting) != 1:
        return None
    return plain_type(returned_by_function(fitting[0], overloads.Callee(fitting[0]).scope(ctx, {})))


def spelled(ctx: Context, symbol: str, at: tree.Expr) -> list[Function]:
    """All functions in sight that are spelled ``operator<symbol>``."""
    name = operators.island_name(symbol)
    if name not in ctx.helpers and name not in ctx.at.unit.header_functions:
        return []
    found = overloads.functions_named(ctx, name, tree.Name(at.lo, at.hi, name))
    return [each for each in found if operators.symbol_of(each) == symbol]


def _of_method(
    ctx: Context,
    object_: tree.Expr,
    name: str,
    arguments: Sequence[tree.Expr],
    at: tree.Expr,
    scope: LocalScope,
) -> Type | None:
    record = of(ctx, object_, scope)
    if not isinstance(record, Record):
        return None
    found = objects.methods(ctx, record, name, at)
    method = methods.chosen(ctx, found, tree.Name(at.lo, at.hi, name), arguments, scope)
    return None if method is None else plain_type(returned_by_function(method.function, method.record.scope))
