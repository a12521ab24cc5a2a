"""The types that functions and lambdas return where none is declared: those of what their ``return`` statements give
([dcl.spec.auto.general], [expr.prim.lambda.closure]).

A body is read for its types alone: its parameters and what it declares are there with their types, and nothing runs.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import partial

from smem_lsp.elaborate.parameters import Parameter, function_parameters, implied_binding
from smem_lsp.elaborate.returned_types import (
    has_trailing_type,
    is_deduced,
    returned_by_function,
    returned_by_lambda,
    spelled_result,
)
from smem_lsp.elaborate.value_categories import Given
from smem_lsp.lowering.body import (
    declarations,
    declared_types,
    expression_types,
    inlining,
    namespace_arrays,
    parameter_binding,
    value_categories,
)
from smem_lsp.lowering.state.context import Context, DeducedType
from smem_lsp.lowering.state.local_scope import Boundary, Closure, LocalScope, This, Variable
from smem_lsp.semantics import type_of
from smem_lsp.semantics.entities import TypedConstant
from smem_lsp.semantics.evaluate import evaluate
from smem_lsp.semantics.local_declarations import declare_constants, declare_parameters
from smem_lsp.semantics.scope import Meanings, Scope
from smem_lsp.semantics.types import (
    Array,
    FunctionType,
    Pointer,
    Record,
    Type,
    decayed,
    plain_type,
    qualified,
)
from smem_lsp.semantics.value_categories import Category
from smem_lsp.source import checkpoint
from smem_lsp.source.queries import Query
from smem_lsp.syntax import tree
from smem_lsp.syntax.blocks import Definition
from smem_lsp.syntax.parse import Function

_NOWHERE = -1  # the number of a variable of which nothing but its type is known
_MOST_NESTED = 16  # bodies


def of_function(
    ctx: Context, function: Function, constants: Scope, expr: tree.Call, scope: LocalScope
) -> Given:
    """What a call of a function is, if the type of its result is deduced, or stands behind its parameters, which it may
    name ([dcl.fct]/2); of another one nothing is known. ``constants``: of its body, with the template arguments of this
    call; ``scope``: of the call."""
    parameters = function_parameters(function)
    deduced = is_deduced(function)
    if parameters is None or not (deduced or has_trailing_type(function)):
        return Given()
    outer = LocalScope(constants=constants, around=namespace_arrays.around(ctx, constants))
    record = constants.record if constants.parent is None else constants.record or constants.parent.record
    own = constants.child()
    if record is not None and "static" not in function.head.texts:
        constant = implied_binding(function).constant
        outer.names["this"] = This(record, _placeholder(), constant)
        own.declare("this", TypedConstant(Pointer(qualified(record, constant=constant))))
    inner = LocalScope(outer, constants=own, boundary=Boundary.FUNCTION)
    closures = _declare_parameters(ctx, parameters, expr, scope, inner)
    known = inner.constant_scope()
    if not deduced:
        return value_categories.by_type(returned_by_function(function, known))
    key = function.definition, function.scopes, function.number, function.first_token, known.meanings
    if key in ctx.inlining.deducing:
        return ctx.inlining.deducing[key].given
    work = partial(_of_body, ctx, function, inner, key)
    return (work() if closures else _RESULTS.once(constants.state.store, key, work)).given


_Key = tuple[Definition, tuple[str, ...], int, int, Scope | Meanings]
_RESULTS = Query[_Key, DeducedType]("types that functions return which are deduced", most=4096)


def _of_body(ctx: Context, function: Function, inner: LocalScope, key: Hashable) -> DeducedType:
    spelled = spelled_result(function)
    with ctx.at.within(function):
        return _deduced(ctx, ctx.at.body.statements, inner, spelled, key)


def of_lambda(ctx: Context, closure: Closure, expr: tree.Call, scope: LocalScope) -> Given:
    """What a call of a lambda is, also where the type of its result is declared."""
    node, base = closure.node, closure.base
    with ctx.at.within(closure.function):
        parameters = inlining.lambda_parameters(ctx, closure)
    if parameters is None:
        return Given()
    inner = LocalScope(closure.scope, boundary=Boundary.FUNCTION)
    _declare_parameters(ctx, parameters, expr, scope, inner)
    lo, hi = base + node.body[0], base + node.body[1]
    body = ctx.at.body_of(closure.function)
    listed = None if node.parameters is None else (base + node.parameters[0], base + node.parameters[1])
    spelled = body.tokens.texts[slice(*_behind(closure))]
    if "->" in spelled and "auto" not in spelled:
        return value_categories.by_type(returned_by_lambda(body, listed, lo, inner.constant_scope()))
    key = node, base, inner.constant_scope().meanings
    if key in ctx.inlining.deducing:
        return ctx.inlining.deducing[key].given
    with ctx.at.within(closure.function):
        return _deduced(ctx, body.block(lo, hi), inner, spelled, key).given


def _behind(closure: Closure) -> tuple[int, int]:
    """The tokens between the parameters of a lambda and its body."""
    node = closure.node
    return (
        (0, 0)
        if node.parameters is None
        else (closure.base + node.parameters[1] + 1, closure.base + node.body[0] - 1)
    )


def unnamed(ctx: Context, node: tree.Lambda, scope: LocalScope) -> Closure:
    """A lambda of which nothing is asked but what it returns."""
    return Closure(node, ctx.at.base, scope, ctx.at.function, instance=ctx.inlining.instance)


def _deduced(
    ctx: Context, block: tree.Block, inner: LocalScope, spelled: Sequence[str], key: Hashable
) -> DeducedType:
    """``spelled``: the type of the result, which says that it is deduced."""
    if len(ctx.inlining.deducing) >= _MOST_NESTED:
        return DeducedType(known=False)
    result = ctx.inlining.deducing[key] = DeducedType(spelled=tuple(spelled))
    try:
        _statement(ctx, block, inner, result)
    finally:
        del ctx.inlining.deducing[key]
    return result


# ---- parameters ------------------------------------------------------------------------------------------------------


def _placeholder(*, array: int = 0, constant: bool = False, kind: Type | None = None) -> Variable:
    return Variable(_NOWHERE, array, constant=constant, type=kind)


def _declare_parameters(
    ctx: Context, parameters: Sequence[Parameter], expr: tree.Call, scope: LocalScope, inner: LocalScope
) -> bool:
    """The parameters of a call, with their types. Returns whether one of them is a lambda."""
    parameters = [parameter_binding.with_name(each, number) for number, each in enumerate(parameters)]
    declare_parameters(
        [p.declaration for p in parameters if p.declaration is not None], inner.declare_constants()
    )
    closures = False
    for number, parameter in enumerate(parameters):
        checkpoint()
        if parameter.declarator is None or not parameter.name:
            continue
        given = expr.arguments[number] if number < len(expr.arguments) else None
        if given is not None:
            parameter_binding.typed(ctx, parameter, given, scope, inner)
        closure = None if given is None else lambda_of(ctx, given, scope)
        closures = closures or closure is not None
        inner.names[parameter.name] = closure or _declared(parameter, parameter.declarator, inner)
    return closures


def lambda_of(ctx: Context, expr: tree.Expr, scope: LocalScope) -> Closure | None:
    """The lambda that an expression is."""
    if isinstance(expr, tree.Lambda):
        return unnamed(ctx, expr, scope)
    meaning = scope.lookup(expr.text) if isinstance(expr, tree.Name) else None
    return meaning if isinstance(meaning, Closure) else None


def _declared(declaration: type_of.Specifiers, declarator: tree.Declarator, scope: LocalScope) -> Variable:
    number = declared_types.number_type(declarator, scope)
    constant = declared_types.is_constant(declaration, declarator, scope)
    return _placeholder(array=len(declarator.dims), constant=constant, kind=number)


# ---- statements ------------------------------------------------------------------------------------------------------


def _statement(ctx: Context, node: tree.Statement, scope: LocalScope, result: DeducedType) -> None:
    checkpoint()
    inner = LocalScope(scope)
    match node:
        case tree.DeclarationStatement():
            _declaration(ctx, node.chunk, scope)
            return
        case tree.Empty():
            if ctx.at.body.tokens.kinds[node.lo : node.lo + 1] == ["USING"]:
                declarations.declare_names(ctx, node.lo, scope)
        case tree.JumpStatement(kind="return"):
            _return(ctx, node, scope, result)
        case tree.If():
            _condition(ctx, node.condition, inner)
            if node.constexpr and (live := _live(ctx, node, inner)) is not None:
                for each in live:  # what is discarded says nothing ([dcl.spec.auto.general]/3)
                    _statement(ctx, each, inner, result)
                return
        case tree.While() | tree.DoWhile() | tree.Switch():
            _condition(ctx, node.condition, inner)
        case tree.For():
            _for(ctx, node, inner)
        case tree.Bad() | tree.MacroStatement():
            if "RETURN" in ctx.at.body.tokens.kinds[node.lo : node.hi]:
                result.known = False
    for each in tree.inside(node):
        _statement(ctx, each, inner, result)


def _return(ctx: Context, node: tree.JumpStatement, scope: LocalScope, result: DeducedType) -> None:
    if node.chunk is None:
        return
    with ctx.at.chunk(node.chunk[0]):
        expr = ctx.at.body.chunk(tree.value_start(ctx.at.body.tokens.kinds, node.chunk), node.chunk)
        if expr is None or isinstance(expr, tree.Braces):
            result.known = False
            return
        result.add(_result(ctx, expr, scope, result.spelled))


def _result(ctx: Context, expr: tree.Expr, scope: LocalScope, spelled: Sequence[str]) -> Given:
    """What a call is that returns an expression ([dcl.spec.auto.general], [dcl.type.decltype]). ``spelled``: the type
    of the result."""
    if "decltype" in spelled:
        return value_categories.as_declared(ctx, expr, scope)
    kind = expression_types.of(ctx, expr, scope)
    constant = "const" in spelled
    if {"&", "&&"}.isdisjoint(spelled):
        if isinstance(kind, Array):
            kind = decayed(replace(value_categories.given(ctx, expr, scope), type=kind).qualified)
        if isinstance(kind, Pointer) and "*" in spelled:
            kind = Pointer(qualified(kind.target, constant="const" in spelled[: spelled.index("*")]))
        return Given(_of_value(kind), Category.PRVALUE, constant and isinstance(kind, Record))
    seen = value_categories.given(ctx, expr, scope)
    rvalue = "&&" in spelled and seen.category is not Category.LVALUE
    category = None if rvalue and seen.category is None else Category.XVALUE if rvalue else Category.LVALUE
    return replace(seen, type=_of_value(kind), category=category, constant=constant or seen.constant)


def _of_value(kind: Type | None) -> Type | None:
    return None if isinstance(kind, FunctionType) else plain_type(kind)


def _live(ctx: Context, node: tree.If, scope: LocalScope) -> Sequence[tree.Statement] | None:
    """What is left of ``if constexpr``; None: not known."""
    with ctx.at.chunk(node.condition[0]):
        parsed = ctx.at.body.chunk("condition", node.condition)
        asked = parsed.condition if isinstance(parsed, tree.ConditionWithInit) else parsed
        known = (
            None
            if asked is None or isinstance(asked, tree.Declaration)
            else evaluate(asked, scope.constant_scope())
        )
    if known is None:
        return None
    live = node.then if known else node.otherwise
    return () if live is None else (live,)


def _condition(ctx: Context, chunk: tuple[int, int], scope: LocalScope) -> None:
    with ctx.at.chunk(chunk[0]):
        parsed = ctx.at.body.chunk("condition", chunk)
        parts = (parsed.init, parsed.condition) if isinstance(parsed, tree.ConditionWithInit) else (parsed,)
        for each in parts:
            if isinstance(each, tree.Declaration):
                _declare(ctx, each, scope)


def _for(ctx: Context, node: tree.For, scope: LocalScope) -> None:
    with ctx.at.chunk(node.head[0]):
        head = ctx.at.body.chunk("for_head", node.head)
        parts = (
            (head.declaration,)
            if isinstance(head, tree.RangeFor)
            else ()
            if head is None
            else (head.init, head.condition)
        )
        for each in parts:
            if isinstance(each, tree.Declaration):
                _declare(ctx, each, scope)


def _declaration(ctx: Context, chunk: tuple[int, int], scope: LocalScope) -> None:
    with ctx.at.chunk(chunk[0]):
        declaration = ctx.at.body.chunk("declaration", chunk)
        if declaration is not None:
            _declare(ctx, declaration, scope)


def _declare(ctx: Context, declaration: tree.Declaration, scope: LocalScope) -> None:
    """What a body declares, with its types."""
    if "typedef" in declaration.words or "{}" in declaration.words:
        declarations.declare_names(ctx, ctx.at.base + declaration.lo, scope)
        return
    constants = scope.declare_constants()
    declare_constants(declaration, constants)
    for declarator in declaration.declarators:
        if not declarator.name:
            continue
        initializer = declarations.given_to(declarator)
        expression_types.declare_deduced(ctx, declaration, declarator, scope)
        closure = (
            lambda_of(ctx, initializer, scope)
            if "auto" in declaration.words and initializer is not None
            else None
        )
        scope.names[declarator.name] = closure or _declared(declaration, declarator, scope)
