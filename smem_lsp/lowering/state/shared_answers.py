"""What is found out about an expression once, whichever kernels and calls ask.

What the names in scope mean decides nearly all of it. The rest is known only where the expression is lowered: which
objects its names stand for, as what they are seen, and what shared memory holds. All of that is the key of an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from smem_lsp.lowering.state import effects
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import (
    Address,
    BufferName,
    Closure,
    LocalScope,
    Meaning,
    This,
    Variable,
    View,
)
from smem_lsp.semantics.scope import Meanings, Scope
from smem_lsp.source.queries import Query
from smem_lsp.syntax import tree
from smem_lsp.syntax.blocks import Definition

V = TypeVar("V")
Place = tuple[Definition, tuple[str, ...], int, int]  # a function, and where in its file it stands
Key = tuple[tree.Expr, Scope | Meanings, Place, tuple[object, ...]]


def shared(
    ctx: Context,
    query: Query[Key, V],
    expr: tree.Expr,
    scope: LocalScope,
    work: Callable[[], V],
    *more: object,
) -> V:
    """The answer of ``work`` to a question about an expression, which reads nothing that is not in the key. ``more``:
    what the answer depends on besides."""

    constants, function = scope.constant_scope(), ctx.at.function
    place = function.definition, function.scopes, function.number, function.first_token
    known = *more, *(_known(ctx, each, scope) for each in _named(expr))
    return query.once(constants.state.store, (expr, constants.meanings, place, known), work)


def _named(expr: tree.Expr) -> Iterator[tree.Name | tree.Member]:
    """The names in an expression that objects or functions have, and the members that it names."""
    waiting: list[tree.Expr] = [expr]
    while waiting:
        match waiting.pop():
            case tree.Name() as name:
                yield name
            case tree.Member(base=base) as member:
                yield member
                waiting.append(base)
            case tree.Unary(operand=operand) | tree.PostfixStep(operand=operand) | tree.Cast(operand=operand):
                waiting.append(operand)
            case tree.Binary(left=one, right=other) | tree.Assign(target=one, value=other):
                waiting += (other, one)
            case tree.Index(base=one, index=other) | tree.Ternary(yes=one, no=other):
                waiting += (other, one)
            case tree.Call(callee=callee, arguments=arguments):
                waiting += (*arguments, callee)
            case tree.Braces(items=items):
                waiting += items


def _known(ctx: Context, expr: tree.Name | tree.Member, scope: LocalScope) -> object:
    """What is known only here of what is named, as far as types and value categories depend on it."""
    if isinstance(expr, tree.Member):
        return _meant(ctx, effects.member(ctx, expr, scope))
    return _meant(ctx, scope.lookup(expr.text))


def _meant(ctx: Context, meaning: Meaning | None) -> object:
    match meaning:
        case Variable():
            return (
                effects.seen_as(ctx, meaning),
                meaning.seen_as,
                bool(meaning.array),
                meaning.constant,
                meaning.only_read,
                meaning.plain,
            )
        case Address(variable=variable):
            return "&", _meant(ctx, variable)
        case BufferName(buffer=number):
            buffer = ctx.buffers[number]
            return ctx.buffers.kinds.get(number), buffer.dims, "const" in buffer.written.qualifiers
        case View(target=target):
            return target.kind, bool(target.shape), target.pointer
        case This(record=record, target=target):
            return record, meaning.constant, _meant(ctx, target) if isinstance(target, Variable) else None
        case Closure(node=node, base=base, scope=scope, function=function):
            captured = sorted(meaning.copies | meaning.references)
            known = tuple((name, _meant(ctx, scope.lookup(name))) for name in captured)
            return node, base, function.definition, scope.constant_scope().meanings, known
    return type(meaning)
