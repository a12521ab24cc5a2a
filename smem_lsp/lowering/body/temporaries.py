"""Objects without a name: `T()`, and their call operators."""

from __future__ import annotations

from smem_lsp.elaborate import special_members
from smem_lsp.elaborate.value_categories import Given
from smem_lsp.elaborate.virtual_functions import with_bases
from smem_lsp.ir.values import Value, Var
from smem_lsp.lowering.body import constructors, expression_types, lifetimes, methods, objects
from smem_lsp.lowering.library.values import made_by
from smem_lsp.lowering.state import effects
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import LocalScope, Variable
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics import type_of
from smem_lsp.semantics.entities import Template
from smem_lsp.semantics.evaluate import evaluate_value
from smem_lsp.semantics.types import Record, Type, is_number
from smem_lsp.semantics.value_categories import Category
from smem_lsp.syntax import tree


def temporary(ctx: Context, expr: tree.Expr, scope: LocalScope) -> Variable | None:
    """The object without a name that ``T(...)`` or ``T{...}`` makes; None: another expression, or not followed."""
    name, arguments = made_by(expr)
    record = made(expr, scope)
    if name is None or record is None:
        return None
    variable = constructors.new(ctx, "", record, [name.text])
    constructors.construct(ctx, variable, record, arguments, expr, scope)
    lifetimes.begin_temporary(ctx, variable, record, expr)
    return variable


def referent(ctx: Context, kind: Type | None, expr: tree.Expr, scope: LocalScope) -> Variable | Ref | None:
    """The variable, object or place that a reference to type ``kind`` is bound to ([dcl.init.ref]/5); None: not
    followed."""
    found = for_reference(ctx, kind, expr, scope) or effects.designated(ctx, expr, scope)
    of_class = isinstance(found, Variable) and found.index in ctx.variables.objects
    return None if of_class and is_number(kind) else found


def for_reference(
    ctx: Context, kind: Type | None, expr: tree.Expr, scope: LocalScope
) -> Variable | Ref | None:
    """The object that a reference to type ``kind`` is bound to where the expression has another type, made for it or
    given by a conversion to a reference ([dcl.init.ref]/5); None: it is bound to the expression itself, or not
    followed."""
    record = objects.followed(kind)
    if record is None:
        return None
    if not isinstance(expr, tree.Braces):
        given = expression_types.of(ctx, expr, scope)
        if given is None or (isinstance(given, Record) and record in with_bases(given)):
            if given != record or not _is_constant(expr, scope):
                return None
        elif not isinstance(given, Record) and not special_members.constructors(record):
            return None
        referred = constructors.referred(ctx, record, expr, scope)
        if referred is not None:
            return referred
    variable = constructors.new(ctx, "", record, [record.decl.name])
    constructors.give(ctx, variable, record, expr, scope)
    lifetimes.begin_temporary(ctx, variable, record, expr)
    return variable


def _is_constant(expr: tree.Expr, scope: LocalScope) -> bool:
    """Is it a constant object outside functions, which is like any other of its value?"""
    of = expr
    while isinstance(of, tree.Member) and of.operator == ".":
        of = of.base
    if not isinstance(of, tree.Name) or scope.lookup(of.text) is not None:
        return False
    return evaluate_value(expr, scope.constant_scope()).members is not None


def of_constant(ctx: Context, value: Value, expr: tree.Expr, scope: LocalScope) -> Var | None:
    """The object that has the ``value`` of a constant one; None: the expression is none, or not followed."""
    record = objects.followed(evaluate_value(expr, scope.constant_scope()).type)
    if record is None or not _is_constant(expr, scope):
        return None
    variable = constructors.new(ctx, "", record, [record.decl.name])
    ctx.assign(variable.index, value)
    return Var(variable.index)


def converted(ctx: Context, expr: tree.Cast, scope: LocalScope) -> Variable | None:
    """The object that a cast to a class makes ([expr.static.cast]); None: a cast to another type, or not followed."""
    found = temporary(ctx, expr, scope)
    if found is not None or expr.type.pointers or expr.type.dims:
        return found
    record = objects.followed(type_of.type_id(expr.type, scope.constant_scope()))
    if record is None:
        return None
    variable = constructors.new(ctx, "", record, expr.type.words)
    constructors.give(ctx, variable, record, expr.operand, scope, implicit=False)
    lifetimes.begin_temporary(ctx, variable, record, expr)
    return variable


def made(expr: tree.Expr, scope: LocalScope) -> Record | None:
    """The class of such an object; None: another expression, or not followed."""
    name, arguments = made_by(expr)
    if name is None or scope.lookup(name.text) is not None:
        return None
    meaning = scope.constant_scope().resolve(name)
    if isinstance(meaning, Template):
        return objects.deduced(name, arguments, scope)
    return objects.followed(constructors.as_record(meaning))


def call_temporary(ctx: Context, made: tree.Expr, expr: tree.Call, scope: LocalScope) -> Value | Ref | None:
    """``Add()(...)``: the call operator of an object that has no name; None: not followed."""
    variable = temporary(ctx, made, scope) if is_quiet(made) else None
    if variable is None:
        return None
    name = tree.Name(made.lo, made.hi, "operator()")
    record = ctx.variables.objects[variable.index].record
    return methods.on(ctx, record, variable, name, expr, scope, Given(record, Category.PRVALUE, False))


def is_quiet(expr: tree.Expr) -> bool:
    """Does it make an object from names and numbers alone? Then it may be looked at twice."""
    return all(isinstance(argument, tree.Name | tree.Number) for argument in made_by(expr)[1])
