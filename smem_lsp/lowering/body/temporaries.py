"""Objects without a name: `T()`, their call operators, and what an object is converted to."""

from __future__ import annotations

from smem_lsp.ir.values import Value
from smem_lsp.lowering.body import methods, objects
from smem_lsp.lowering.state import effects
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import LocalScope, Variable
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics import collect
from smem_lsp.semantics.evaluate import evaluate_value
from smem_lsp.semantics.types import Record
from smem_lsp.syntax import tree


def temporary(ctx: Context, expr: tree.Expr, scope: LocalScope) -> Variable | None:
    """The object without a name that ``T(...)`` or ``T{...}`` makes; None: another expression, or not followed."""
    name, arguments = methods.made_by(expr)
    if name is None:
        return None
    record = objects.followed(methods.as_record(scope.constant_scope().resolve(name)))
    if record is None or scope.lookup(name.text) is not None:
        return None
    variable = methods.new(ctx, "", record, [name.text])
    methods.construct(ctx, variable, record, arguments, expr, scope)
    return variable


def call_temporary(ctx: Context, made: tree.Expr, expr: tree.Call, scope: LocalScope) -> Value | Ref | None:
    """``Add()(...)``: the call operator of an object that has no name; None: not followed."""
    variable = temporary(ctx, made, scope) if _is_quiet(made) else None
    if variable is None:
        return None
    name = tree.Name(made.lo, made.hi, "operator()")
    return methods.on(ctx, ctx.variables.objects[variable.index].record, variable, name, expr, scope)


def as_pointer(ctx: Context, expr: tree.Expr, scope: LocalScope) -> Ref | None:
    """The address that an object is converted to by an ``operator T*`` of its class; None: not known."""
    kind = objects.followed(evaluate_value(expr, scope.constant_scope()).type)
    name = None if kind is None else _conversion(kind)
    if kind is None or name is None:
        return None
    designated = effects.designated(ctx, expr, scope)
    if designated is not None and designated.index not in ctx.variables.objects:
        return None
    if designated is None and not _is_quiet(expr):
        return None
    variable = temporary(ctx, expr, scope) if designated is None else designated
    if variable is None:
        return None
    call = tree.Call(expr.lo, expr.hi, tree.Name(expr.lo, expr.hi, name), [])
    found = methods.on(ctx, kind, variable, tree.Name(expr.lo, expr.hi, name), call, scope)
    return found if isinstance(found, Ref) else None


def _is_quiet(expr: tree.Expr) -> bool:
    """Does it make an object from names and numbers alone? Then it may be looked at twice."""
    return all(isinstance(argument, tree.Name | tree.Number) for argument in methods.made_by(expr)[1])


def _conversion(record: Record) -> str | None:
    """The name of the conversion to a pointer that a class has, of a const one and its twin the other."""
    names = [name for name in collect.inside(record.decl).names if objects.is_conversion(name)]
    pointers = [name for name in names if name.endswith("*")]
    plain = [name for name in pointers if not name.startswith("operatorconst")]
    found = plain or pointers
    return found[0] if len(found) == 1 else None
