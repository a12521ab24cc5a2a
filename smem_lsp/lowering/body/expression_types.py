"""The type of an expression where functions decide it: what a call, an operator or a member of an object returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from smem_lsp.elaborate.call_sites import Callee
from smem_lsp.elaborate.expression_types import expression_type
from smem_lsp.elaborate.returned_types import returned_by_function
from smem_lsp.elaborate.value_categories import Given
from smem_lsp.lowering.body import (
    declarations,
    deduced_results,
    methods,
    objects,
    operator_candidates,
    parameter_binding,
    value_categories,
)
from smem_lsp.lowering.body.class_parts import Method
from smem_lsp.lowering.callees import overloads
from smem_lsp.lowering.state import effects
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import LocalScope, This, View
from smem_lsp.lowering.state.shared_answers import Key, shared
from smem_lsp.semantics import arithmetic, literals, type_of
from smem_lsp.semantics.entities import TypedConstant
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.types import (
    BOOL,
    Array,
    Enum,
    Pointer,
    Record,
    Reference,
    Scalar,
    Type,
    decayed,
    plain_type,
    qualified,
    reference_to,
)
from smem_lsp.semantics.value_categories import Category, as_type
from smem_lsp.source import checkpoint, record
from smem_lsp.source.integers import COMPARISONS
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
    if isinstance(expr, tree.Ternary) or (
        isinstance(expr, tree.Binary | tree.Unary) and expr.operator not in (",", "*")
    ):
        return known or expression_type(expr, scope.constant_scope())  # of both arms, and of bit-fields
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
            return arithmetic.common_type(of(ctx, expr.yes, scope), of(ctx, expr.no, scope))
        case tree.Call():
            closure = deduced_results.lambda_of(ctx, expr.callee, scope)
            if closure is not None:
                return deduced_results.of_lambda(ctx, closure, expr, scope).type
            found_types = {_returned(ctx, each, scope) for each in called(ctx, expr, scope)}
            return found_types.pop() if len(found_types) == 1 else None
        case tree.Number() | tree.String() if expr.suffix:
            meant = literals.call_of(expr, scope.constant_scope())
            return None if meant is None else of(ctx, meant, scope)
    return None


def _returned(ctx: Context, of_call: Called, scope: LocalScope) -> Type | None:
    """The type of what a call returns, without references and qualifiers; None: not known."""
    kind = plain_type(returned_by_function(of_call.function, of_call.scope))
    if kind is not None:
        return kind
    return deduced_results.of_function(ctx, of_call.function, of_call.scope, of_call.call, scope).type


def declare_deduced(
    ctx: Context, declaration: tree.Declaration, declarator: tree.Declarator, scope: LocalScope
) -> None:
    """Declare ``auto x = f();``, and what ``decltype`` declares, with its type, where functions decide it."""
    words, marks = declaration.words, declarator.pointers
    constants = scope.declare_constants()
    known = constants.bound.get(declarator.name)
    if marks not in ([], ["&"], ["&&"]) or not isinstance(known, TypedConstant):
        return
    kind = known.type
    if plain_type(kind) is not None and not (isinstance(kind, Reference) and kind.rvalue is None):
        return
    found = _specified(ctx, declaration, declarator, scope)
    if found is None or found.type is None:
        return
    if "auto" in words and not marks:
        seen = found.qualified
        kind = type_of.qualified_by(words, decayed(seen) if isinstance(seen, Array) else found.type)
        constants.declare(declarator.name, TypedConstant(kind))
        return
    if found.constant is None and "const" not in words:
        return  # what it refers to may be `const`
    kind = type_of.qualified_by(words, found.qualified)
    if "auto" not in words:
        kind = as_type(kind, found.category)
    elif marks == ["&&"]:
        kind = Reference(kind, None if found.category is None else found.category is not Category.LVALUE)
    if kind is not None:
        made = reference_to(kind, rvalue=marks == ["&&"]) if marks else kind
        constants.declare(declarator.name, TypedConstant(made))


def _specified(
    ctx: Context, declaration: tree.Declaration, declarator: tree.Declarator, scope: LocalScope
) -> Given | None:
    """The expression that ``auto`` and ``decltype`` take the type of, a name that stands in ``decltype`` alone as it is
    declared; None: there is none."""
    spelled, given = declaration.decltype, declarations.given_to(declarator)
    if spelled is not None:
        if any("::" in each.text for each in declaration.names):
            return None  # a member of it
        return value_categories.as_declared(ctx, spelled.operand, scope, alone=spelled.alone)
    if given is None or isinstance(given, tree.Braces):
        return None
    if "auto" in declaration.words:
        return replace(value_categories.given(ctx, given, scope), type=of(ctx, given, scope))
    if "decltype" not in declaration.words or declarator.style != "=":
        return None
    return value_categories.as_declared(ctx, given, scope)


def class_of_member(ctx: Context, expr: tree.Member, scope: LocalScope) -> Record | None:
    """The class that a member is looked up in."""
    kind = of(ctx, expr.base, scope)
    if expr.operator == "->":
        kind = plain_type(kind.target) if isinstance(kind, Pointer) else None
    return kind if isinstance(kind, Record) else None


def _of_data(record: Record, name: str) -> Type | None:
    named = [field for field in objects.fields(record) or () if field.name == name]
    own = [field for field in named if field.home is record.scope] or named  # it hides those of bases
    kinds = [plain_type(field.type) for field in own]
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


@record
class Called:
    """A function that a call may mean. ``scope``: of its body, with the template arguments of the call; ``call``: with
    the arguments of its parameters."""

    function: Function
    scope: Scope
    call: tree.Call


def called(ctx: Context, expr: tree.Call, scope: LocalScope) -> list[Called]:
    """The functions that a call may mean, all of them; empty when they are not in sight."""
    callee = expr.callee
    if isinstance(callee, tree.Member):
        record = class_of_member(ctx, callee, scope)
        object_ = implied(ctx, callee, scope)
        return _method(ctx, record, methods.method_name(callee), expr.arguments, expr, scope, object_)
    if isinstance(callee, tree.Name) and scope.lookup(callee.text) is None:
        this = scope.lookup("this")
        if isinstance(this, This) and "::" not in callee.text:
            own = Given(this.record, Category.LVALUE, this.constant)
            found = _method(ctx, this.record, callee, expr.arguments, expr, scope, own)
            if found:
                return found
        functions = overloads.candidates(ctx, callee, expr, scope)
        if functions:
            return [_bound(ctx, each, callee, expr, scope) for each in functions]
    record_type = of(ctx, callee, scope)
    if not isinstance(record_type, Record):
        return []
    object_ = value_categories.given(ctx, callee, scope)
    name = tree.Name(callee.lo, callee.hi, "operator()")
    return _method(ctx, record_type, name, expr.arguments, expr, scope, object_)


def implied(ctx: Context, callee: tree.Member, scope: LocalScope) -> Given:
    """The object that a member function is called of."""
    if callee.operator == "->":
        return replace(value_categories.pointed(ctx, callee.base, scope), category=Category.LVALUE)
    return value_categories.given(ctx, callee.base, scope)


def _method(
    ctx: Context,
    record: Record | None,
    name: tree.Name,
    arguments: Sequence[tree.Expr],
    at: tree.Expr,
    scope: LocalScope,
    object_: Given,
) -> list[Called]:
    if record is None:
        return []
    found = objects.methods(ctx, record, name.text, at)
    method = methods.chosen(ctx, found, name, arguments, scope, object_)
    return [] if method is None else [_of_member(ctx, method, name, arguments, scope)]


def _bound(ctx: Context, callee: Callee, name: tree.Name, call: tree.Call, scope: LocalScope) -> Called:
    """A function with the template arguments that a call gives it."""
    bound = parameter_binding.template_arguments(ctx, callee.function, name, call, scope, callee.arguments)
    return Called(callee.function, callee.scope(ctx.around.file_constants, bound or {}), call)


def _of_member(
    ctx: Context, method: Method, name: tree.Name, arguments: Sequence[tree.Expr], scope: LocalScope
) -> Called:
    call = tree.Call(name.lo, name.hi, name, list(arguments))
    if method.callee.arguments:
        return Called(method.function, method.record.scope, call)
    return _bound(ctx, method.callee, name, call, scope)


# ---- operators -------------------------------------------------------------------------------------------------------


def _of_operator(ctx: Context, expr: value_categories.Operation, scope: LocalScope) -> Type | None:
    symbol, operands = value_categories.operands_of(expr)
    kinds = [of(ctx, operand, scope) for operand in operands]
    first = kinds[0]
    if symbol in ("[]", "*") and isinstance(first, Pointer | Array):
        return plain_type(first.target if isinstance(first, Pointer) else first.element)
    found = operators(ctx, symbol, operands, expr, scope)
    if found != []:
        return _returned(ctx, found[0], scope) if found is not None and len(found) == 1 else None
    if isinstance(expr, tree.Assign):
        return first
    if symbol == ",":
        return kinds[1]
    if symbol in ("!", "&&", "||") or symbol in COMPARISONS:
        return BOOL
    if symbol in ("+", "-", "~") and len(kinds) == 1:
        return first if isinstance(first, Pointer) else arithmetic.promoted(first)
    if symbol in ("++", "--"):
        return first
    if len(kinds) == 2 and all(isinstance(kind, Enum | Scalar) for kind in kinds):
        return arithmetic.operate(symbol, *map(TypedConstant, kinds)).type  # no function takes them
    if symbol != "&" or not isinstance(first, Record):
        return None
    return Pointer(replace(value_categories.given(ctx, operands[0], scope), type=first).qualified)


def operators(
    ctx: Context, symbol: str, operands: Sequence[tree.Expr], expr: tree.Expr, scope: LocalScope
) -> list[Called] | None:
    """The functions that an operator may call, as in ``called``; none: that of the language; None: not known."""
    if not operator_candidates.spelled(ctx, symbol, expr):
        return []
    found = operator_candidates.candidates(ctx, symbol, operands, expr, scope)
    if found.of_language:
        return []
    if found.language or found.unseen:
        return None
    name = tree.Name(expr.lo, expr.hi, f"operator{symbol}")
    call = tree.Call(expr.lo, expr.hi, name, list(operands))
    members = [found.member] if found.member is not None else found.members
    return [
        *(_of_member(ctx, each, name, operands[1:], scope) for each in members),
        *(_bound(ctx, each, name, call, scope) for each in found.free),
    ]
