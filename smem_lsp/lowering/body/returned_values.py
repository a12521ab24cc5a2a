"""``return`` in a body that is inlined: what is known of the result, be it a place, an object, a lambda or a value."""

from __future__ import annotations

from smem_lsp.elaborate.parameters import function_parameters
from smem_lsp.elaborate.returned_types import result_mark, returned_by_function, returns_reference
from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.ir.values import Var
from smem_lsp.lowering.body import (
    base_classes,
    class_operators,
    closures,
    conditionals,
    constructors,
    declarations,
    expression_types,
    expressions,
    implicit_calls,
    inlining,
    objects,
    value_categories,
)
from smem_lsp.lowering.state import conversions, effects
from smem_lsp.lowering.state.context import Context, ReturnTarget
from smem_lsp.lowering.state.local_scope import Closure, LocalScope, Variable, View
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.types import Enum, Pointer, Record, Reference, Scalar, Type
from smem_lsp.semantics.value_categories import Category
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function


def outcome_of_function(ctx: Context, function: Function, constants: Scope) -> ReturnTarget:
    """``constants``: with the template arguments of this call."""
    kind, reference = returned_by_function(function, constants), returns_reference(function, constants)
    pointer = isinstance(kind, Pointer) if kind is not None else result_mark(function) == "STAR"
    outcome = ReturnTarget(ctx.variables.declare("result"), reference is True, pointer, type=kind)
    outcome.deduced = (
        kind is None and "auto" in function.head.texts[: function.island.name - function.island.head]
    )
    outcome.by_category = reference is None
    if not outcome.reference:
        _return_object(ctx, outcome, objects.followed(kind))
    return outcome


def outcome_of_lambda(ctx: Context, kind: Type | None) -> ReturnTarget:
    """``kind``: the type that stands behind ``->``; None: it is deduced, or not known."""
    reference, pointer = isinstance(kind, Reference), isinstance(kind, Pointer)
    outcome = ReturnTarget(ctx.variables.declare("result"), reference, pointer, type=kind)
    outcome.deduced = kind is None
    if not reference:
        _return_object(ctx, outcome, objects.followed(kind))
    return outcome


def _return_object(ctx: Context, outcome: ReturnTarget, record: Record | None) -> None:
    """What is returned is an object of this class, whose members are followed."""
    if record is not None:
        outcome.record = record
        objects.make(ctx, constructors.unnamed(outcome.variable), record)


def returned(ctx: Context, expr: tree.Expr, scope: LocalScope) -> None:
    """``return expr;`` of a body that is inlined."""
    outcome = ctx.inlining.outcomes[-1]
    if outcome.by_category:
        outcome.by_category, outcome.reference = False, _is_reference(ctx, expr, scope)
    closure = None
    if outcome.deduced and not (outcome.reference or outcome.pointer):
        if outcome.record is None and not (outcome.values or outcome.refs):
            _return_object(ctx, outcome, objects.followed(expression_types.of(ctx, expr, scope)))
        closure = closures.held(ctx, expr, scope)
    if closure is not None:
        _return_closure(ctx, outcome, closure, scope)
    elif outcome.record is not None:
        outcome.values += 1
        constructors.returned(ctx, constructors.unnamed(outcome.variable), outcome.record, expr, scope)
    elif outcome.reference:
        _return_reference(ctx, outcome, expr, scope)
    else:
        _return_value(ctx, outcome, expr, scope)


def _is_reference(ctx: Context, expr: tree.Expr, scope: LocalScope) -> bool:
    """Does ``decltype(auto)`` make a reference of what is returned ([dcl.type.decltype])? A name alone has the type
    that it is declared with."""
    category = value_categories.as_declared(ctx, expr, scope).category
    at, texts = ctx.at.base + expr.lo, ctx.at.body.tokens.texts
    if category is None and isinstance(expr, tree.Name) and texts[at - 1] != "(":
        parameters = function_parameters(ctx.at.function) or ()
        named = [each for each in parameters if each.name == expr.text]
        return named[0].reference if named else isinstance(scope.lookup(expr.text), View)
    if category is None:
        what = Cause(CauseKind.RETURNS_REFERENCE, names=(inlining.called_name(ctx.at.function),))
        implicit_calls.note(ctx, what, expr)
    return category in (Category.LVALUE, Category.XVALUE)


def _return_closure(ctx: Context, outcome: ReturnTarget, closure: Closure, scope: LocalScope) -> None:
    """A lambda is returned by value. What it refers to must live on."""
    outcome.values += 1
    ctx.assign(outcome.variable, ctx.out.fresh())
    if ctx.out.depth != outcome.depth or closures.dangles(closure, scope):
        closures.give_up(ctx, closure)
    else:
        outcome.closures.append(closure)


def _return_reference(ctx: Context, outcome: ReturnTarget, expr: tree.Expr, scope: LocalScope) -> None:
    """``T& f()``: the caller gets the variable or the object itself where it is followed, else a place."""
    named = effects.designated(ctx, expr, scope)
    if named is not None and (named.index in ctx.variables.objects or _is_number(named)):
        outcome.values += 1
        if named.index not in ctx.variables.objects:
            ctx.inlining.referred[named.index] = named
        outcome.objects.append(named.index)
        ctx.assign(outcome.variable, Var(named.index))
        return
    if outcome.pointer:
        place = expressions.address(ctx, expr, scope)
    else:
        place = expressions.operand(ctx, expr, scope)
        conditionals.note_place(ctx, place, expr, scope)
    if isinstance(place, Ref):
        _return_place(ctx, outcome, place, expr)
        return
    outcome.values += 1
    bound = declarations.bound_to(ctx, place)
    if bound is not None:
        outcome.bound.append(bound)
        ctx.inlining.references.add(outcome.variable)
    ctx.assign(outcome.variable, place)


def _is_number(variable: Variable) -> bool:
    """Is it a number that a thread has for itself, and no reference to another place?"""
    whole = variable.plain and not variable.array and variable.bound is None and not variable.constant
    return whole and isinstance(variable.type, Scalar | Enum)


def _return_value(ctx: Context, outcome: ReturnTarget, expr: tree.Expr, scope: LocalScope) -> None:
    """``int f()``, ``float* f()``, ``auto f()``: a number or an address as the type of the function has it."""
    if outcome.pointer:
        value = expressions.address(ctx, expr, scope)
    else:
        if outcome.number:
            value = class_operators.as_number(ctx, expr, scope, kind=outcome.type)
        else:
            value = expressions.operand(ctx, expr, scope)
        closure = closures.taken(ctx, value) if outcome.deduced else None
        if closure is not None:
            _return_closure(ctx, outcome, closures.without_expression(ctx, closure), scope)
            return
        kind = _deduced_number(ctx, outcome, expr, scope) if outcome.deduced else outcome.type
        value = effects.assigned(effects.load(ctx, value, expr), kind)
        if not isinstance(value, Ref):
            value = conversions.assigned(ctx, value, expr, kind, scope)
    if isinstance(value, Ref):
        _return_place(ctx, outcome, value, expr)
    else:
        outcome.values += 1
        ctx.assign(outcome.variable, value)


def _deduced_number(ctx: Context, outcome: ReturnTarget, expr: tree.Expr, scope: LocalScope) -> Type | None:
    """The type of the number that is returned; None: not known, or it is none."""
    kind = expression_types.of(ctx, expr, scope)
    if not isinstance(kind, Scalar | Enum):
        return None
    ctx.variables.readings[outcome.variable] = conversions.reading_of(kind)
    return kind


def _return_place(ctx: Context, outcome: ReturnTarget, place: Ref, expr: tree.Expr) -> None:
    """A place or an address is returned: that of a base class, if the function is declared so."""
    outcome.refs.append(ctx.frozen(base_classes.converted(ctx, place, outcome.type, expr)))
