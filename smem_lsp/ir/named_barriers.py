"""CUTLASS's named barriers (cutlass/arch/barrier.h) where that header is not in sight: ``NamedBarrier::sync(n, id)``,
``NamedBarrier(n, id).arrive()`` and objects that are declared so.

The library adds the number of barriers that it keeps for itself to ``id``, how many depends on its version: so these
are numbers of their own, compared with each other only.
"""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.ir import expressions
from smem_lsp.ir.context import Context
from smem_lsp.ir.scopes import Scope, Variable
from smem_lsp.ir.values import Value
from smem_lsp.syntax import tree

FAMILY = "cutlass"
_CLASS = "NamedBarrier"
_METHODS = {"sync": False, "arrive_and_wait": False, "arrive": True}  # does it go on without waiting?


def static_call(ctx: Context, expr: tree.Call, callee: tree.Name, scope: Scope) -> Value | None:
    """``NamedBarrier::sync(n, id)``; None: another function."""
    path = callee.text.split("::")
    if path[-2:-1] != [_CLASS] or path[-1] not in _METHODS or len(expr.arguments) != 2 or _declared(ctx):
        return None
    return _come(ctx, expr, path[-1], _values(ctx, expr.arguments, scope))


def method(ctx: Context, expr: tree.Call, callee: tree.Member, scope: Scope) -> Value | None:
    """A method of an object, or of one that is made for it; None: of another class."""
    if callee.operator != "." or callee.name not in _METHODS or expr.arguments:
        return None
    made = callee.base
    if isinstance(made, tree.Call) and isinstance(made.callee, tree.Name) and len(made.arguments) == 2:
        if made.callee.text.rpartition("::")[2] == _CLASS and not _declared(ctx):
            return _come(ctx, expr, callee.name, _values(ctx, made.arguments, scope))
    meaning = scope.lookup(made.text) if isinstance(made, tree.Name) else None
    if isinstance(meaning, Variable) and meaning.index in ctx.named_barriers:
        return _come(ctx, expr, callee.name, ctx.named_barriers[meaning.index])
    return None


def declared(ctx: Context, declaration: tree.Declaration, declarator: tree.Declarator, scope: Scope) -> bool:
    """Is it ``NamedBarrier full(n, id)``, of which nothing else is used but its methods? Then it is declared."""
    given = declarator.initializer
    if (
        not declaration.words
        or declaration.words[-1].rpartition("::")[2] != _CLASS
        or not isinstance(given, tree.Braces)
        or len(given.items) != 2
        or declarator.pointers
        or declarator.dims
        or _declared(ctx)
        or not _stays(ctx, declarator.name)
    ):
        return False
    variable = ctx.new_variable(declarator.name)
    scope.names[declarator.name] = Variable(variable, exact=False, plain=False, of_class=_CLASS)
    ctx.named_barriers[variable] = _values(ctx, given.items, scope)
    return True


def _come(ctx: Context, expr: tree.Call, name: str, given: Sequence[Value]) -> Value:
    count, number = given
    ctx.named_barrier(expr.lo, expr.hi, number, count, arrives=_METHODS[name], family=FAMILY)
    return ctx.fresh()


def _values(ctx: Context, arguments: Sequence[tree.Expr], scope: Scope) -> list[Value]:
    """What the arguments are now."""
    return [ctx.frozen_value(expressions.value(ctx, each, scope)) for each in arguments]


def _declared(ctx: Context) -> bool:
    """Does the file have such functions of its own?"""
    return any(
        function.island.enclosing[-1:] == (_CLASS,)
        for name in _METHODS
        for function in ctx.helpers.get(name, ())
    )


def _stays(ctx: Context, name: str) -> bool:
    """Are its methods all that the function uses of an object?"""
    kinds, texts = ctx.body.tokens.kinds, ctx.body.tokens.texts
    uses = [i for i, text in enumerate(texts) if text == name and kinds[i] == "NAME"]
    return bool(name) and all(
        texts[i + 1] == "." and texts[i + 2] in _METHODS and texts[i - 1] not in (".", "->", "::")
        for i in uses[1:]
    )
