"""Calls out of sight of which nothing says that they wait for other threads.

Whoever calls a barrier that stands in another file says so, nearly always: by the function's name, or by the object
that it hands over. A function of another kind may wait nevertheless, so nothing is proved of what stands around it; but
what races unless it waits can be told with that condition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from smem_lsp.ir.nodes import PresumedCall
from smem_lsp.lowering.callees import library_names
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import BufferName, Closure, Group, LocalScope, Variable, View
from smem_lsp.source import checkpoint
from smem_lsp.source.queries import Query, question, remembered
from smem_lsp.source.regex import regex
from smem_lsp.syntax import tree
from smem_lsp.syntax.blocks import Definition
from smem_lsp.syntax.kinds import kind_of
from smem_lsp.syntax.parse import Function
from smem_lsp.syntax.questions import of_function
from smem_lsp.targets.dialects import Dialect

# Namespaces of functions that one thread runs by itself.
_SEQUENTIAL = ("std", "cuda::std", "thrust", "glm")
_LIBRARIES = frozenset(("std", "cuda", "thrust", "glm"))
# Words of names: of what waits for other threads, or tells them that they need not wait any more.
_WAITS = frozenset(
    "acquire arrive await bar barrier barriers cg consumer cooperative fence group groups lock mbar mbarrier"
    " mutex pipe pipeline poll producer release rendezvous sem semaphore spin sync synchronise synchronize"
    " synchronized syncthreads tile unlock wait waits".split()
)
# Of what the threads of a block do together, which needs barriers.
_TOGETHER = frozenset(
    "block blocks broadcast collective cta exchange prefix reduce reducer reduction scan sort team workgroup".split()
)
_GROUPS = frozenset("block blocks cta group groups team tile".split())
_NUMBERS = frozenset("count dim dims id idx index num offset rank size start stride".split())  # of a group
_OF_A_WARP = frozenset("ballot lane lanes shfl shuffle subwarp warp".split())
_WORD = regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_MACRO = regex(r"[A-Z][A-Z0-9_]*\Z")
_MOST = 40  # functions that are looked at for one call


def is_sequential(ctx: Context, expr: tree.Call, scope: LocalScope) -> bool:
    """Is it a function of a library that one thread runs by itself, and is it handed none of the file's own?"""
    callee = expr.callee
    if not isinstance(callee, tree.Name) or not callee.text.startswith(tuple(f"{n}::" for n in _SEQUENTIAL)):
        return False
    return not _says_so(ctx, expr, scope) and all(_is_plain(ctx, at, scope) for at in _tokens(ctx, expr))


def _tokens(ctx: Context, expr: tree.Call) -> Iterator[int]:
    """The names in a call that no ``.`` and no ``::`` stand beside: of variables, functions, classes."""
    tokens, hi = ctx.at.body.tokens, ctx.at.base + expr.hi
    for at in range(ctx.at.base + expr.lo, hi):
        if tokens.kinds[at] == "LB" and tokens.texts[at - 1] in ("(", ","):
            yield at  # of a lambda
        if tokens.kinds[at] == "NAME" and tokens.texts[at - 1] not in ("::", ".", "->"):
            if at + 1 == hi or tokens.texts[at + 1] != "::" or tokens.texts[at] not in _LIBRARIES:
                yield at


def _is_plain(ctx: Context, at: int, scope: LocalScope) -> bool:
    """Is it the name of a number, a pointer or an array, with no operator of its own?"""
    meaning = scope.lookup(ctx.at.body.tokens.texts[at])
    return isinstance(meaning, BufferName | View) or (
        isinstance(meaning, Variable) and (not meaning.of_class or kind_of(meaning.of_class) == "TYPE")
    )


def presumed_calm(
    ctx: Context, expr: tree.Call, definitions: Sequence[Function], scope: LocalScope
) -> PresumedCall | None:
    """A call of a function of which nothing says that it waits for other threads; None: something does.
    ``definitions``: those that it may be, as far as they are in sight."""
    name = _name(expr.callee)
    if not name or _MACRO.match(name.rpartition("::")[2]) or _says_so(ctx, expr, scope):
        return None
    key = tuple(each.definition for each in definitions), ctx.dialect
    if _MAY_WAIT.once(ctx.around.file_constants.state.store, key, partial(_may_wait, ctx, definitions)):
        return None
    return PresumedCall(name, in_warp=not _OF_A_WARP.isdisjoint(_words(name)))


_MAY_WAIT = Query[tuple[tuple[Definition, ...], Dialect], bool](
    "may threads wait in what some functions reach"
)


def _may_wait(ctx: Context, definitions: Sequence[Function]) -> bool:
    return any(_waits(each, ctx.dialect) for each in _reached(ctx, definitions))


def _name(callee: tree.Expr) -> str:
    match callee:
        case tree.Name(text=name) | tree.Member(name=name):
            return name
        case tree.Call(callee=tree.Name(text=name), arguments=[]):  # Maximum()(a, b)
            return name
    return ""


def _says_so(ctx: Context, expr: tree.Call, scope: LocalScope) -> bool:
    """Does the name of what is called, or of what it is handed, say that threads wait for each other?"""
    lo, opening = ctx.at.base + expr.lo, ctx.at.base + expr.callee.hi
    texts = ctx.at.body.tokens.texts
    if any(map(_is_together, texts[lo:opening])):
        return True
    return any(_is_wait(text) or _waits_there(text, scope) for text in texts[lo : ctx.at.base + expr.hi])


def _waits_there(text: str, scope: LocalScope) -> bool:
    """Is it the name of a group or a barrier, or of a lambda in which threads may wait?"""
    meaning = scope.lookup(text) if text[:1].isalpha() or text[:1] == "_" else None
    if isinstance(meaning, Closure):
        lo, hi = (meaning.base + end for end in meaning.node.body)
        return any(_is_wait(each) or _is_together(each) for each in meaning.function.body.tokens.texts[lo:hi])
    if isinstance(meaning, Variable) and meaning.of_class:
        return any(map(_is_wait, meaning.of_class.split("::")))
    return isinstance(meaning, Group)


@remembered(most=4096)
def _words(text: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _WORD.findall(text))


def _names_wait(text: str) -> bool:
    """Does a word say, where it is the name of a function, that threads wait for each other in it?"""
    return _is_wait(text) or _is_together(text)


def _is_wait(text: str) -> bool:
    words = _words(text)
    return not _WAITS.isdisjoint(words) and _OF_A_WARP.isdisjoint(words) and not _is_number(words)


def _is_together(text: str) -> bool:
    words = _words(text)
    return not _TOGETHER.isdisjoint(words) and _OF_A_WARP.isdisjoint(words) and not _is_number(words)


def _is_number(words: Sequence[str]) -> bool:
    """A name like ``block_size``?"""
    return words[-1] in _NUMBERS and (_WAITS | _TOGETHER).intersection(words) <= _GROUPS


@question(of_function)
def _waits(function: Function, dialect: Dialect) -> bool:
    """May threads wait in the text of a function?"""
    texts = function.definition.body.texts
    return (
        "volatile" in texts
        or not library_names.telling(dialect).isdisjoint(texts)
        or any(map(_names_wait, _called(texts)))
    )


def _called(texts: Sequence[str]) -> Iterator[str]:
    for at, text in enumerate(texts[:-1]):
        if texts[at + 1] in ("(", "<"):
            yield text


def _reached(ctx: Context, functions: Iterable[Function]) -> Iterator[Function]:
    """The functions and all of the file that they may call; the first of them where there are many."""
    seen: dict[int, Function] = {}
    waiting = list(functions)
    while waiting and len(seen) < _MOST:
        checkpoint()
        function = waiting.pop()
        if id(function.definition) not in seen:
            seen[id(function.definition)] = function
            yield function
            for name in dict.fromkeys(_called(function.definition.body.texts)):
                waiting += ctx.helpers.get(name, ())
