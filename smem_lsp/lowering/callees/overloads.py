"""Which functions a call in the body that is being lowered may mean.

``elaborate`` decides that by the names in scope and by the types of the arguments; what is known here is where the call
stands, and the types of shared memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.elaborate import callees
from smem_lsp.elaborate.best_function import left_by_type
from smem_lsp.elaborate.call_lookup import Found, looked_up
from smem_lsp.elaborate.call_sites import Arguments, Callee, Site, given_type
from smem_lsp.elaborate.parameters import function_parameters
from smem_lsp.elaborate.value_categories import Given
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import BufferName, LocalScope
from smem_lsp.lowering.state.shared_answers import Key, shared
from smem_lsp.semantics.entities import Argument
from smem_lsp.semantics.evaluate import evaluate_value
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.template_header import template_parameters
from smem_lsp.semantics.types import Array, Pointer, Reference, Type
from smem_lsp.source.queries import Query
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function


def site(ctx: Context, where: tree.Expr) -> Site:
    """Where an expression stands."""
    offset = ctx.at.body.site(ctx.at.base + where.lo, ctx.at.base + where.hi).start
    return Site(ctx.at.unit, ctx.helpers, ctx.around.file_constants, ctx.at.function, offset)


def _arguments(ctx: Context, expressions: Sequence[tree.Expr], scope: LocalScope) -> Arguments:
    return Arguments(
        expressions,
        lambda each: known_type(ctx, each, scope),
        lambda each: ctx.lower.given(ctx, each, scope),
    )


def candidates(ctx: Context, callee: tree.Name, expr: tree.Call, scope: LocalScope) -> Sequence[Callee]:
    """The functions that a call can mean, all of them; empty when they are not in sight."""
    at = site(ctx, callee)

    def find() -> Sequence[Callee]:
        return callees.candidates(at, callee, _arguments(ctx, expr.arguments, scope), scope.constant_scope())

    return shared(ctx, _CANDIDATES, expr, scope, find, callee, at.offset)


_CANDIDATES = Query[Key, Sequence[Callee]]("functions that a call may mean", most=4096)


def handed(callee: tree.Name, scope: LocalScope) -> tuple[Argument] | None:
    """What a template parameter is bound to that is called by its name; None: the name means something else."""
    return callees.handed(callee, scope.constant_scope())


def handed_over(
    ctx: Context, argument: Argument, callee: tree.Name, expr: tree.Call, scope: LocalScope
) -> list[Callee]:
    """The functions that a template argument or a pointer to a function names."""
    arguments = _arguments(ctx, expr.arguments, scope)
    return callees.handed_over(site(ctx, callee), argument, arguments, scope.constant_scope())


def is_built_in(ctx: Context, callee: tree.Name, expr: tree.Call, scope: LocalScope) -> bool:
    """Is it surely the function of CUDA that is called with numbers, though others have its name?"""
    return callees.is_built_in(site(ctx, callee), callee, _arguments(ctx, expr.arguments, scope))


def functions_named(ctx: Context, name: str, where: tree.Expr) -> list[Function]:
    """The functions of this name in the file and its headers; those of headers stand where they are called."""
    return site(ctx, where).functions_named(name)


def by_type(
    ctx: Context,
    found: list[Function],
    expr: tree.Call,
    scope: LocalScope,
    *,
    of_one_set: bool = False,
    implied: Given | None = None,
    explicit: Sequence[Argument] | None = None,
    perhaps: Sequence[Function] = (),
    free: Sequence[Function] = (),
    around: Sequence[tuple[Function, Scope]] = (),
) -> list[Function]:
    """Without the overloads that the arguments of a call rule out, as in ``left_by_type``."""
    return left_by_type(
        site(ctx, expr),
        found,
        _arguments(ctx, expr.arguments, scope),
        of_one_set=of_one_set,
        implied=implied,
        explicit=explicit,
        perhaps=perhaps,
        free=free,
        around=around,
    )


def operators_found(
    ctx: Context, name: tree.Name, named: Sequence[Function], operands: Sequence[tree.Expr], scope: LocalScope
) -> Sequence[Found] | None:
    """The functions that are no members and that the name of an operator finds among those that are spelled so; None:
    others may be out of sight."""
    arguments = _arguments(ctx, operands, scope)
    at, constants = site(ctx, name), scope.constant_scope()
    found = looked_up(at, named, name, arguments, constants, members=False)
    return None if found.but_for else found.functions


def keeps_values(ctx: Context, function: Function, callee: tree.Name) -> bool:
    """Is what looks like a parameter by value one? ``f<float&>(x)`` has none."""
    names = template_parameters(function)
    dependent = any(
        names & set(parameter.words) and not parameter.reference and "*" not in parameter.pointers
        for parameter in function_parameters(function) or ()
    )
    tokens = ctx.at.body.tokens
    lo, hi = ctx.at.base + callee.lo, ctx.at.base + callee.hi
    given = [
        text
        for kind, text in zip(tokens.kinds[lo:hi], tokens.texts[lo:hi])
        if kind in ("NAME", "AMP", "AND_AND")
    ]
    aliased = any(isinstance(ctx.around.constants.meaning((text,), (None,)), Reference) for text in given[1:])
    return not dependent or not (aliased or {"&", "&&"} & set(given))


def type_given(ctx: Context, argument: tree.Expr, scope: LocalScope) -> Type | None:
    """The type of an argument, as in ``given_type``."""
    return given_type(argument, argument_type(ctx, argument, scope, decayed=False))


def known_type(ctx: Context, argument: tree.Expr, scope: LocalScope) -> Type | None:
    """The type of an argument, which may be an array, also where functions decide it."""
    kind = argument_type(ctx, argument, scope, decayed=False)
    if kind is not None or isinstance(argument, tree.Braces):
        return kind
    return ctx.lower.type_of(ctx, argument, scope)


def argument_type(
    ctx: Context, argument: tree.Expr, scope: LocalScope, *, decayed: bool = True
) -> Type | None:
    """The type of an argument as far as it is known. A list in braces has none ([over.ics.list]). ``decayed``: an array
    is the address of its first element."""
    if isinstance(argument, tree.Braces):
        return None
    meaning = scope.lookup(argument.text) if isinstance(argument, tree.Name) else None
    if isinstance(meaning, BufferName):
        kind = ctx.buffers.kinds.get(meaning.buffer)
        dims = ctx.buffers[meaning.buffer].dims
        for dim in reversed(dims[1:] if decayed else dims):
            kind = Array(kind, dim)
        return Pointer(kind) if dims and decayed else kind
    return evaluate_value(argument, scope.constant_scope()).type
