"""The type of an expression where functions decide it: what a call, an operator or a member of an object returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from smem_lsp.elaborate.returned_types import returned_by_function
from smem_lsp.elaborate.value_categories import Category, Given
from smem_lsp.lowering.body import methods, objects, operator_candidates, value_categories
from smem_lsp.lowering.callees import overloads
from smem_lsp.lowering.state import effects
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import LocalScope, This, View
from smem_lsp.lowering.state.shared_answers import Key, shared
from smem_lsp.semantics import arithmetic, type_of
from smem_lsp.semantics.entities import TypedConstant
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.types import Array, Enum, Pointer, Record, Scalar, Type, plain_type, qualified
from smem_lsp.source import checkpoint
from smem_lsp.source.queries import Query
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function


def of(ctx: Context, expr: tree.Expr, scope: LocalScope) -> Type | None:
    """The type of an expression; None: not known."""
    checkpoint()
    if not isinstance(expr, tree.Member | tree.Index):
        return _of(ctx, expr, scope) if isinstance(expr, _WITHOUT_FUNCTIONS) else _once(ctx, expr, scope, _of)
    found = _by_itself(ctx, expr, scope)  # mostly no function decides what a place is
    return _once(ctx, expr, scope, _by_functions) if found is None else found


_WITHOUT_FUNCTIONS = (tree.Name, tree.Number, tree.String, tree.Cast, tree.Braces, tree.Lambda, tree.SizeOf)


def _once(
    ctx: Context,
    expr: tree.Expr,
    scope: LocalScope,
    find: Callable[[Context, tree.Expr, LocalScope], Type | None],
) -> Type | None:
    return shared(ctx, _TYPES, expr, scope, partial(find, ctx, expr, scope))


_TYPES = Query[Key, Type | None]("types of expressions where functions decide them", most=8192)


def _of(ctx: Context, expr: tree.Expr, scope: LocalScope) -> Type | None:
    return _by_itself(ctx, expr, scope) or _by_functions(ctx, expr, scope)


def _by_itself(ctx: Context, expr: tree.Expr, scope: LocalScope) -> Type | None:
    """By the object that it designates, or by the names in it alone."""
    designated = effects.designated(ctx, expr, scope)
    known = None if designated is None or designated.array else effects.seen_as(ctx, designated)
    return known or plain_type(overloads.argument_type(ctx, expr, scope))


def _by_functions(ctx: Context, expr: tree.Expr, scope: LocalScope) -> Type | None:
    match expr:
        case tree.Name() if isinstance(view := scope.lookup(expr.text), View):
            return None if view.target.shape or view.target.pointer else plain_type(view.target.kind)
        case tree.Name() if isinstance(this := scope.lookup(expr.text), This):
            return Pointer(qualified(this.record, constant=this.constant))
        case tree.Unary(operator="*", operand=tree.Name(text="this")):
            this = scope.lookup("this")
            return this.record if isinstance(this, This) else None
        case tree.Member():
            record = class_of_member(ctx, expr, scope)
            return None if record is None else _of_data(record, expr.name)
        case tree.Index() | tree.Binary() | tree.Unary() | tree.PostfixStep() | tree.Assign():
            return _of_operator(ctx, expr, scope)
        case tree.Ternary():
            one, other = of(ctx, expr.yes, scope), of(ctx, expr.no, scope)
            return one if one == other else None
        case tree.Call():
            found_types = {returned(function, around) for function, around in called(ctx, expr, scope)}
            return found_types.pop() if len(found_types) == 1 else None
    return None


def returned(function: Function, scope: Scope) -> Type | None:
    """The type of what a call returns, without references and qualifiers; None: it is deduced, or not known."""
    return plain_type(returned_by_function(function, scope))


def class_of_member(ctx: Context, expr: tree.Member, scope: LocalScope) -> Record | None:
    """The class that a member is looked up in."""
    kind = of(ctx, expr.base, scope)
    if expr.operator == "->":
        kind = plain_type(kind.target) if isinstance(kind, Pointer) else None
    return kind if isinstance(kind, Record) else None


def _of_data(record: Record, name: str) -> Type | None:
    kinds = [plain_type(field.type) for field in objects.fields(record) or () if field.name == name]
    return kinds[0] if len(kinds) == 1 else None


def is_reference_member(record: Record, name: str) -> bool:
    """Is it a member that is declared as a reference?"""
    return any(field.reference for field in objects.fields(record) or () if field.name == name)


def is_type(callee: tree.Name, scope: LocalScope) -> bool:
    """Does ``T(...)`` make an object or a number of a type that is named?"""
    if scope.lookup(callee.text) is not None:
        return False
    constants = scope.constant_scope()
    return type_of.named(callee, constants) is not None


# ---- calls -----------------------------------------------------------------------------------------------------------


def called(ctx: Context, expr: tree.Call, scope: LocalScope) -> list[tuple[Function, Scope]]:
    """The functions that a call may mean, all of them, each with the scope of its class or file; empty when they are
    not in sight."""
    callee = expr.callee
    if isinstance(callee, tree.Member):
        record = class_of_member(ctx, callee, scope)
        object_ = implied(ctx, callee, scope)
        return _method(ctx, record, callee.name, expr.arguments, expr, scope, object_)
    if isinstance(callee, tree.Name) and scope.lookup(callee.text) is None:
        this = scope.lookup("this")
        if isinstance(this, This) and "::" not in callee.text:
            own = Given(this.record, Category.LVALUE, this.constant)
            found = _method(ctx, this.record, callee.text, expr.arguments, expr, scope, own)
            if found:
                return found
        functions = overloads.candidates(ctx, callee, expr, scope)
        return [(each.function, each.scope(ctx.around.file_constants, {})) for each in functions]
    record_type = of(ctx, callee, scope)
    if not isinstance(record_type, Record):
        return []
    object_ = value_categories.given(ctx, callee, scope)
    return _method(ctx, record_type, "operator()", expr.arguments, expr, scope, object_)


def implied(ctx: Context, callee: tree.Member, scope: LocalScope) -> Given:
    """The object that a member function is called of."""
    if callee.operator == "->":
        return replace(value_categories.pointed(ctx, callee.base, scope), category=Category.LVALUE)
    return value_categories.given(ctx, callee.base, scope)


def _method(
    ctx: Context,
    record: Record | None,
    name: str,
    arguments: Sequence[tree.Expr],
    at: tree.Expr,
    scope: LocalScope,
    object_: Given,
) -> list[tuple[Function, Scope]]:
    if record is None:
        return []
    found = objects.methods(ctx, record, name, at)
    method = methods.chosen(ctx, found, tree.Name(at.lo, at.hi, name), arguments, scope, object_)
    return [] if method is None else [(method.function, method.record.scope)]


# ---- operators -------------------------------------------------------------------------------------------------------


def _of_operator(ctx: Context, expr: value_categories.Operation, scope: LocalScope) -> Type | None:
    symbol, operands = value_categories.operands_of(expr)
    kinds = [of(ctx, operand, scope) for operand in operands]
    first = kinds[0]
    if symbol in ("[]", "*") and isinstance(first, Pointer | Array):
        return plain_type(first.target if isinstance(first, Pointer) else first.element)
    found = operators(ctx, symbol, operands, expr, scope)
    if found != []:
        return returned(*found[0]) if found is not None and len(found) == 1 else None
    if symbol == "=":
        return first
    if len(kinds) == 2 and all(isinstance(kind, Enum | Scalar) for kind in kinds):
        return arithmetic.operate(symbol, *map(TypedConstant, kinds)).type  # no function takes them
    return Pointer(first) if symbol == "&" and isinstance(first, Record) else None


def operators(
    ctx: Context, symbol: str, operands: Sequence[tree.Expr], expr: tree.Expr, scope: LocalScope
) -> list[tuple[Function, Scope]] | None:
    """The functions that an operator may call, as in ``called``; none: that of the language; None: not known."""
    if not operator_candidates.spelled(ctx, symbol, expr):
        return []
    found = operator_candidates.candidates(ctx, symbol, operands, expr, scope)
    if found.of_language:
        return []
    if found.language or found.unseen:
        return None
    top = ctx.around.file_constants
    members = [found.member] if found.member is not None else found.members
    return [
        *((each.function, each.record.scope) for each in members),
        *((each.function, each.scope(top, {})) for each in found.free),
    ]
