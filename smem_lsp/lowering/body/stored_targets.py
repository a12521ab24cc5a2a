"""What a store may change whose target is no variable: all that the expression may be another name for."""

from __future__ import annotations

from smem_lsp.ir.values import Var
from smem_lsp.lowering.body import unknown_calls
from smem_lsp.lowering.state import effects
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import LocalScope, Variable
from smem_lsp.source import checkpoint
from smem_lsp.syntax import tree


def forget_target(ctx: Context, target: tree.Expr, scope: LocalScope) -> None:
    """Something is stored in ``target``, which is no variable: what it may be changes. A call, and an operator of a
    class, may return a reference to what it was handed by reference or by address, or to a part of its object."""
    checkpoint()
    if not isinstance(target, tree.Index):
        effects.forget_bound(ctx, target, scope)
    while isinstance(target, tree.Index | tree.Member | tree.Cast | tree.Unary):
        inner = target.operand if isinstance(target, tree.Cast | tree.Unary) else target.base
        if isinstance(target, tree.Index | tree.Unary):
            _forget_object(ctx, inner, scope)
        target = inner
    if isinstance(target, tree.Binary):
        sides = target.left, target.right
        if any(_names_object(ctx, each, scope) for each in sides):
            for each in sides:  # the operator may return a reference to what it gets
                _forget_variable(ctx, each, scope)
    if not isinstance(target, tree.Call):
        return
    name = target.callee.text if isinstance(target.callee, tree.Name) else ""
    if isinstance(target.callee, tree.Member):
        name = target.callee.name
        _forget_argument(ctx, target.callee.base, scope)
    else:  # perhaps an object that is called
        _forget_argument(ctx, target.callee, scope)
    taken = unknown_calls.taken_by(ctx, target, scope, name, None) if name else None
    for number, argument in enumerate(target.arguments):
        checkpoint()
        lent = taken is None or (taken[number].reference and not taken[number].reads)
        if lent or (isinstance(argument, tree.Unary) and argument.operator == "&"):
            _forget_argument(ctx, argument, scope)


def _names_object(ctx: Context, expr: tree.Expr, scope: LocalScope) -> bool:
    found = effects.designated(ctx, expr, scope)
    return found is not None and (found.index in ctx.variables.objects or not found.plain)


def _forget_variable(ctx: Context, expr: tree.Expr, scope: LocalScope) -> None:
    """One of two that an expression may be another name for."""
    found = effects.designated(ctx, expr, scope)
    if found is not None and found.index not in ctx.variables.objects:
        effects.forget(ctx, Var(found.index))
    _forget_argument(ctx, expr, scope)


def _forget_argument(ctx: Context, argument: tree.Expr, scope: LocalScope) -> None:
    _forget_object(ctx, argument, scope)
    forget_target(ctx, argument, scope)


def _forget_object(ctx: Context, expr: tree.Expr, scope: LocalScope) -> None:
    """The members of an object, and what those are bound to that are references."""
    found = effects.designated(ctx, expr, scope)
    held = None if found is None else ctx.variables.objects.get(found.index)
    for member in () if held is None else held.members.values():
        checkpoint()
        if isinstance(member, Variable):
            effects.forget(ctx, Var(member.index))
