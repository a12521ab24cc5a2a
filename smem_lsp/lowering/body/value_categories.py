"""The value category of an expression ([basic.lval]), where functions decide it, too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from smem_lsp.elaborate import returned_types
from smem_lsp.elaborate.call_sites import is_null
from smem_lsp.elaborate.value_categories import Given
from smem_lsp.lowering.body import declared_types, deduced_results, expression_types, operator_candidates
from smem_lsp.lowering.callees import overloads
from smem_lsp.lowering.callees.intrinsics import takes_values
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.effects import SAME_OBJECT, designated, pointed_to
from smem_lsp.lowering.state.local_scope import BufferName, LocalScope, This, Variable, View
from smem_lsp.lowering.state.shared_answers import Key, shared
from smem_lsp.semantics import literals, type_of
from smem_lsp.semantics.declarations import enumerators
from smem_lsp.semantics.entities import TypedConstant
from smem_lsp.semantics.evaluate import qualified_type
from smem_lsp.semantics.record_layout import designated_member, member_type
from smem_lsp.semantics.scope import member_entity
from smem_lsp.semantics.template_header import template_parameters
from smem_lsp.semantics.types import (
    Array,
    Enum,
    Pointer,
    Record,
    Reference,
    Type,
    is_constant,
    is_volatile,
    plain_type,
    qualified,
    reference_to,
)
from smem_lsp.semantics.value_categories import Category, declared_type, of_type
from smem_lsp.source import checkpoint
from smem_lsp.source.queries import Query
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function

_UNKNOWN = Given()
_VALUE = Given(category=Category.PRVALUE, constant=False)
_PLACE = Given(category=Category.LVALUE)


def given(ctx: Context, expr: tree.Expr, scope: LocalScope) -> Given:
    """The type of an expression, its value category, and whether it is ``const``."""
    kind = overloads.type_given(ctx, expr, scope)
    if kind is None:
        kind = expression_types.of(ctx, expr, scope)
    return replace(_category(ctx, expr, scope), type=kind, null=is_null(expr))


def moved(expr: tree.Expr) -> tree.Expr:
    """An expression as an xvalue."""
    return tree.Call(expr.lo, expr.hi, tree.Name(expr.lo, expr.lo, "std::move"), [expr])


def declares_reference(declaration: tree.Declaration, declarator: tree.Declarator, scope: LocalScope) -> bool:
    """Is it a reference that is declared, or perhaps one, as ``decltype`` may be?"""
    if not {"&", "&&"}.isdisjoint(declarator.pointers):
        return True
    if "decltype" not in declaration.words:
        return False
    kind = declared_types.bound_type(declarator, scope)
    return kind is None or isinstance(kind, Reference)


def as_declared(ctx: Context, expr: tree.Expr, scope: LocalScope, *, alone: bool | None = None) -> Given:
    """What ``decltype`` makes of an expression ([dcl.type.decltype]): a name or a member that stands there alone has
    the type that it is declared with, any other expression that of its category. ``alone``: are there no parentheses
    around it? None: the text tells."""
    if alone is None:
        texts, base = ctx.at.body.tokens.texts, ctx.at.base
        alone = texts[base + expr.lo - 1] != "(" or texts[base + expr.hi] != ")"
    if not alone or not isinstance(expr, tree.Name | tree.Member):
        return given(ctx, expr, scope)
    kind = declared_type(expr, scope.constant_scope())
    if kind is None and isinstance(expr, tree.Member):
        record = expression_types.class_of_member(ctx, expr, scope)
        kind = None if record is None else member_type(record, expr.name)
    return by_type(kind)


def is_prvalue(ctx: Context, expr: tree.Expr, record: Record, scope: LocalScope) -> bool:
    """Does an expression make an object of this very class?"""
    if isinstance(expr, tree.Braces) or designated(ctx, expr, scope) is not None:
        return False
    if _category(ctx, expr, scope).category is not Category.PRVALUE:
        return False
    return expression_types.of(ctx, expr, scope) == record


def _category(ctx: Context, expr: tree.Expr, scope: LocalScope) -> Given:
    checkpoint()
    if isinstance(expr, tree.Call | Operation):
        return shared(ctx, _CATEGORIES, expr, scope, partial(_found, ctx, expr, scope))
    return _found(ctx, expr, scope)


_CATEGORIES = Query[Key, Given]("value categories of expressions where functions decide them", most=8192)


def _found(ctx: Context, expr: tree.Expr, scope: LocalScope) -> Given:
    match expr:
        case tree.Name():
            return _of_name(ctx, expr, scope)
        case tree.Number() | tree.String() if expr.suffix:
            meant = literals.call_of(expr, scope.constant_scope())
            return _UNKNOWN if meant is None else _category(ctx, meant, scope)
        case tree.Number() | tree.Lambda() | tree.SizeOf():
            return _VALUE
        case tree.String():
            return Given(category=Category.LVALUE, constant=True)
        case tree.Assign() | tree.Unary() | tree.Binary() | tree.PostfixStep() | tree.Index():
            return _of_operator(ctx, expr, scope)
        case tree.Member():
            return _of_member(ctx, expr, scope)
        case tree.Call():
            return _of_call(ctx, expr, scope)
        case tree.Cast():
            return _of_cast(expr, scope)
        case tree.Ternary():
            one, other = _category(ctx, expr.yes, scope), _category(ctx, expr.no, scope)
            return one if one == other else _UNKNOWN
    return _UNKNOWN


def _of_name(ctx: Context, expr: tree.Name, scope: LocalScope) -> Given:
    match scope.lookup(expr.text):
        case Variable() as variable:
            return _of_variable(expr, variable, scope)
        case BufferName() as name:
            buffer = ctx.buffers[name.buffer]
            own = buffer.name == expr.text  # else a reference to it, which may be one to what is `const`
            constant, volatile = (each in buffer.written.qualifiers for each in ("const", "volatile"))
            return replace(_PLACE, constant=constant if own or constant else None, volatile=volatile)
        case View():
            return _typed(qualified_type(expr, scope.constant_scope()))
        case This():
            return _VALUE
        case None if _is_enumerator(expr, scope):
            return _VALUE
        case None:
            kind = qualified_type(expr, scope.constant_scope())
            return _UNKNOWN if kind is None else _typed(kind)
    return _UNKNOWN


def _typed(kind: Type | None, category: Category | None = Category.LVALUE) -> Given:
    """An expression of this type."""
    return Given(category=category, constant=is_constant(kind), volatile=is_volatile(kind))


def _of_variable(name: tree.Name, variable: Variable, scope: LocalScope) -> Given:
    """By its type; where this is not known, by how it is declared, which may leave it open. A copy in a lambda and a
    member in a ``const`` method are ``const`` there, however they are declared ([expr.prim.lambda.closure]/7,
    [expr.prim.this])."""
    found = _typed(qualified_type(name, scope.constant_scope()))
    constant = (variable.constant or None) if found.constant is None else found.constant
    return replace(found, constant=variable.only_read or constant)


def _is_enumerator(expr: tree.Name, scope: LocalScope) -> bool:
    meaning = scope.constant_scope().resolve(expr)
    kind = meaning.type if isinstance(meaning, TypedConstant) else None
    name = expr.text.rpartition("::")[2]
    return isinstance(kind, Enum) and any(each.name == name for each in enumerators(kind.decl))


def _of_member(ctx: Context, expr: tree.Member, scope: LocalScope) -> Given:
    through = expr.operator == "->"
    base = pointed(ctx, expr.base, scope) if through else _category(ctx, expr.base, scope)
    category = Category.XVALUE if base.category is Category.PRVALUE else base.category
    record = expression_types.class_of_member(ctx, expr, scope)
    if record is None:
        return Given(category=category)
    static = member_entity(record, expr.name)
    if isinstance(static, TypedConstant):
        return _typed(static.type)
    if expression_types.is_reference_member(record, expr.name):
        category = Category.LVALUE
    seen = [
        _typed(
            designated_member(qualified(record, constant=each, volatile=base.volatile), expr.name), category
        )
        for each in ([False, True] if base.constant is None else [base.constant])
    ]
    return seen[0] if seen[0] == seen[-1] else replace(seen[0], constant=None)


def pointed(ctx: Context, pointer: tree.Expr, scope: LocalScope) -> Given:
    """What an address leads to."""
    checkpoint()
    match pointer:
        case tree.Name():
            meaning = scope.lookup(pointer.text)
            if isinstance(meaning, This):
                return replace(_PLACE, constant=meaning.constant)
            if isinstance(meaning, BufferName):
                return _of_name(ctx, pointer, scope)
        case tree.Unary(operator="&"):
            return _category(ctx, pointer.operand, scope)
    kind = expression_types.of(ctx, pointer, scope)
    if isinstance(kind, Array):
        return _category(ctx, pointer, scope)
    if isinstance(kind, Pointer) and kind.target is not None:
        return _typed(kind.target)
    found = pointed_to(pointer, scope)
    known = found is not None and (found.constant or found.only_read)
    return replace(_PLACE, constant=True if known else None)


def _of_call(ctx: Context, expr: tree.Call, scope: LocalScope) -> Given:
    callee = expr.callee
    if isinstance(callee, tree.Name) and callee.text in SAME_OBJECT and len(expr.arguments) == 1:
        only = _category(ctx, expr.arguments[0], scope)
        if callee.text.endswith("move"):
            return replace(only, category=Category.XVALUE)
        spelled = callee.arguments[-1] if callee.arguments else None
        kind = scope.constant_scope().argument(spelled[0]) if spelled else None
        category = of_type(reference_to(kind, rvalue=True)) if isinstance(kind, Type) else None
        return _UNKNOWN if category is None else replace(only, category=category)
    closure = deduced_results.lambda_of(ctx, expr.callee, scope)
    if closure is not None:
        return deduced_results.of_lambda(ctx, closure, expr, scope)
    functions = expression_types.called(ctx, expr, scope)
    if functions:
        return _returned(ctx, functions, scope)
    if isinstance(callee, tree.Name) and (
        takes_values(callee.text) or expression_types.is_type(callee, scope)
    ):
        return _VALUE
    return _UNKNOWN


def _returned(ctx: Context, functions: Sequence[expression_types.Called], scope: LocalScope) -> Given:
    """What functions return, if it is of one category ([expr.call]/13)."""
    found = {_returned_by(ctx, each, scope) for each in functions}
    return found.pop() if len(found) == 1 else _UNKNOWN


def _returned_by(ctx: Context, of_call: expression_types.Called, scope: LocalScope) -> Given:
    function = of_call.function
    kind = returned_types.returned_by_function(function, of_call.scope)
    if kind is None:
        found = deduced_results.of_function(ctx, function, of_call.scope, of_call.call, scope)
        return _unknown_result(function) if found.category is None else replace(found, type=None)
    return replace(by_type(kind), type=None)


def _unknown_result(function: Function) -> Given:
    """What a function returns of which the type is not known."""
    spelled = returned_types.spelled_result(function)
    if returned_types.result_mark(function) == "AMP":
        return _PLACE
    own = template_parameters(function)
    if not own.isdisjoint(spelled) or not {"decltype", "&&"}.isdisjoint(spelled):
        return _UNKNOWN
    return Given(category=Category.PRVALUE, constant=None if "const" in spelled else False)


def by_type(kind: Type | None) -> Given:
    """A call or a cast that gives this type; a number is not ``const`` ([expr.type]/2)."""
    category, plain = of_type(kind), plain_type(kind)
    if category is Category.PRVALUE and not isinstance(plain, Record):
        return Given(plain, category, constant=False)
    return Given(plain, category, is_constant(kind), is_volatile(kind))


def _of_cast(expr: tree.Cast, scope: LocalScope) -> Given:
    kind = type_of.type_id(expr.type, scope.constant_scope())
    if kind is not None:
        return replace(by_type(kind), type=None)
    marks = [each for each in expr.type.pointers if each in ("*", "&", "&&")]
    if "decltype" in expr.type.words or "&&" in marks:
        return _UNKNOWN
    if marks[-1:] == ["&"]:
        return replace(_PLACE, constant=True if marks == ["&"] and "const" in expr.type.words else None)
    return _VALUE


Operation = tree.Assign | tree.Unary | tree.Binary | tree.PostfixStep | tree.Index


def _of_operator(ctx: Context, expr: Operation, scope: LocalScope) -> Given:
    """An operator of the language, or the function that is called for it."""
    symbol, operands = operands_of(expr)
    kinds = [expression_types.of(ctx, operand, scope) for operand in operands]
    if None in kinds or any(isinstance(kind, Record | Enum) for kind in kinds):
        functions = expression_types.operators(ctx, symbol, operands, expr, scope)
        if functions:
            return _returned(ctx, functions, scope)
        if functions is None or (None in kinds and operator_candidates.spelled(ctx, symbol, expr)):
            return _UNKNOWN
    match expr:
        case tree.Binary(operator=","):
            return _category(ctx, expr.right, scope)
        case tree.Index():
            if isinstance(kinds[0], Array):
                return _category(ctx, expr.base, scope)
            return pointed(ctx, expr.base, scope) if isinstance(kinds[0], Pointer) else _UNKNOWN
        case tree.Unary(operator="*"):
            return replace(pointed(ctx, expr.operand, scope), category=Category.LVALUE)
        case tree.Assign():
            return _PLACE
        case tree.Unary(operator="++" | "--"):
            return _category(ctx, expr.operand, scope)
    return _VALUE


def operands_of(expr: Operation) -> tuple[str, tuple[tree.Expr, ...]]:
    """The symbol of an operator, and what it is applied to."""
    match expr:
        case tree.Assign():
            return expr.operator, (expr.target, expr.value)
        case tree.Binary():
            return expr.operator, (expr.left, expr.right)
        case tree.Index():
            return "[]", (expr.base, expr.index)
        case tree.PostfixStep():
            return expr.operator, (expr.operand, tree.Number(expr.hi - 1, expr.hi, "0"))
        case tree.Unary():
            return expr.operator, (expr.operand,)
