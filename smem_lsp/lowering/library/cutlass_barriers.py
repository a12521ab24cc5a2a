"""CUTLASS's named barriers (cutlass/arch/barrier.h) where that header is not in sight: ``NamedBarrier::sync(n, id)``,
``NamedBarrier(n, id).arrive()`` and objects that are declared so.

The library adds the number of barriers that it keeps for itself to ``id``, how many depends on its version: so these
are numbers of their own, compared with each other only.
"""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.ir.nodes import BarrierFamily
from smem_lsp.ir.values import Value
from smem_lsp.lowering.callees.library_names import named_barriers
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import LocalScope, Variable
from smem_lsp.syntax import tree

_METHODS = {"sync": False, "arrive_and_wait": False, "arrive": True}  # does it go on without waiting?


def static_call(ctx: Context, expr: tree.Call, callee: tree.Name, scope: LocalScope) -> Value | None:
    """``NamedBarrier::sync(n, id)``; None: another function, or one that is in sight."""
    path = callee.text.split("::")
    if (
        len(path) < 2
        or path[-2] not in named_barriers()
        or path[-1] in ctx.at.unit.header_functions
        or _in_sight(ctx)
    ):
        return None
    if path[-1] not in _METHODS or not _takes(ctx, callee, expr.arguments):
        return ctx.lower.unknown_call(ctx, expr, scope, callee.text)
    return _come(ctx, expr, path[-1], _values(ctx, expr.arguments, scope))


def method(ctx: Context, expr: tree.Call, callee: tree.Member, scope: LocalScope) -> Value | None:
    """A method of an object, or of one that is made for it; None: of another class."""
    if callee.operator != "." or callee.name not in _METHODS or expr.arguments:
        return None
    made = callee.base
    if isinstance(made, tree.Call) and isinstance(made.callee, tree.Name):
        named = made.callee.text.rpartition("::")[2] in named_barriers()
        if named and _takes(ctx, made.callee, made.arguments):
            return _come(ctx, expr, callee.name, _values(ctx, made.arguments, scope))
    meaning = scope.lookup(made.text) if isinstance(made, tree.Name) else None
    if isinstance(meaning, Variable) and meaning.index in ctx.named_barriers:
        return _come(ctx, expr, callee.name, ctx.named_barriers[meaning.index])
    return None


def declared(
    ctx: Context, declaration: tree.Declaration, declarator: tree.Declarator, scope: LocalScope
) -> bool:
    """Is it ``NamedBarrier full(n, id)``, of which nothing else is used but its methods? Then it is declared."""
    given = declarator.initializer
    if (
        not declaration.words
        or declaration.words[-1].rpartition("::")[2] not in named_barriers()
        or not isinstance(given, tree.Braces)
        or not _takes(ctx, tree.Name(declaration.lo, declaration.hi, declaration.words[-1]), given.items)
        or declarator.pointers
        or declarator.dims
        or not _stays(ctx, declarator.name)
    ):
        return False
    variable = ctx.variables.declare(declarator.name)
    of_class = declaration.words[-1].rpartition("::")[2]
    scope.names[declarator.name] = Variable(variable, exact=False, plain=False, of_class=of_class)
    ctx.named_barriers[variable] = _values(ctx, given.items, scope)
    return True


def _come(ctx: Context, expr: tree.Call, name: str, given: Sequence[Value]) -> Value:
    count, number = given
    ctx.out.named_barrier(
        expr.lo, expr.hi, number, count, arrives=_METHODS[name], family=BarrierFamily.CUTLASS
    )
    return ctx.out.fresh()


def _values(ctx: Context, arguments: Sequence[tree.Expr], scope: LocalScope) -> list[Value]:
    """What the arguments are now."""
    return [ctx.frozen_value(ctx.lower.value(ctx, each, scope)) for each in arguments]


def _takes(ctx: Context, name: tree.Name, arguments: Sequence[tree.Expr]) -> bool:
    """Are these the threads and the number of a barrier of CUTLASS? Others have a class of that name, too."""
    if len(arguments) != 2 or _in_sight(ctx):
        return False
    count = arguments[0]
    whole = isinstance(count, tree.Number) and count.text.isdigit() and int(count.text) % 32 == 0
    return whole or "cutlass" in name.text.split("::") or "arch" in name.text.split("::")


def _in_sight(ctx: Context) -> bool:
    """Does the file have such a class of its own?"""
    return any(
        not named_barriers().isdisjoint(function.island.enclosing[-1:])
        for method in _METHODS
        for function in ctx.helpers.get(method, ())
    )


def _stays(ctx: Context, name: str) -> bool:
    """Are its methods all that the function uses of an object?"""
    tokens = ctx.body_with(name).tokens
    kinds, texts = tokens.kinds, tokens.texts
    uses = [i for i, text in enumerate(texts) if text == name and kinds[i] == "NAME"]
    return bool(name) and all(
        texts[i + 1] == "." and texts[i + 2] in _METHODS and texts[i - 1] not in (".", "->", "::")
        for i in uses[1:]
    )
