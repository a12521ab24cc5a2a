"""Shared arrays of the functions that a kernel calls: they are known where every call of such a function has been
followed, or stands in an arm that does not exist (``if constexpr``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.lowering.callees import overloads
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import LocalScope
from smem_lsp.semantics.entities import Argument, Functions
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function
from smem_lsp.unit.ptxas_rounding import header_names
from smem_lsp.unit.unit_facts import is_unnamed


def note_followed(ctx: Context, callee: tree.Name, function: Function, bound: Mapping[str, Argument]) -> None:
    """A function is inlined where it is called. Template arguments may be functions: the body then calls them by the
    names of its parameters."""
    handed = {name: arg.overloads for name, arg in bound.items() if isinstance(arg, Functions)}
    named = {decl.name for overloads_ in handed.values() for decl, _ in overloads_}
    named.add(callee.text.rpartition("::")[2])
    lo, hi = ctx.at.base + callee.lo, ctx.at.base + callee.hi
    places = (at for at in range(lo, hi) if ctx.at.body.tokens.texts[at] in named)
    ctx.inlining.settled.setdefault(ctx.at.function.island.head, set()).update(places)
    ctx.inlining.handed.setdefault(function.island.head, set()).update(handed)


def note_discarded(ctx: Context, arm: tree.Statement) -> None:
    """An arm of a branch does not exist: the template is not instantiated with it, or it never runs."""
    places = range(ctx.at.base + arm.lo, ctx.at.base + arm.hi)
    ctx.inlining.settled.setdefault(ctx.at.function.island.head, set()).update(places)


def note_not_followed(ctx: Context, callee: tree.Name, scope: LocalScope) -> None:
    """A call is not followed: what it leads to may declare arrays."""
    places = range(ctx.at.base + callee.lo, ctx.at.base + callee.hi)
    ctx.inlining.unsettled.setdefault(ctx.at.function.island.head, set()).update(places)
    name = callee.text.rpartition("::")[2]
    bound = overloads.handed(callee, scope)
    called = {name}
    if bound is not None:
        called = {decl.name for decl, _ in bound[0].overloads} if isinstance(bound[0], Functions) else set()
    names = header_names(ctx.at.unit, ctx.around.file_constants)
    if names is not None and called & names:
        ctx.limits.note(CauseKind.HEADER_FUNCTION, None, name)


def not_followed(ctx: Context, parts: Sequence[Function]) -> tuple[Function, ...]:
    """Of the functions of the file that a kernel names or that what it calls names, those that some call may lead to
    which was not followed. ``parts``: the kernel, then those functions."""
    done, kernel = ctx.inlining.done, parts[0]
    names = frozenset(each.name for each in parts[1:])
    read: list[Function] = [kernel, *done.values()]
    open_names = {name for each in read for name in _unsettled(ctx, each, names)}
    found: dict[int, Function] = {}
    waiting = [each for each in parts[1:] if each.island.head not in done]
    while True:
        more = [each for each in waiting if each.name in open_names or is_unnamed(each)]
        if not more:
            return tuple(each for each in parts if each.number in found)
        found.update((each.number, each) for each in more)
        waiting = [each for each in waiting if each.number not in found]
        open_names |= {name for each in more for name in names & each.definition.body_words}


def unread(ctx: Context, reached: Sequence[Function]) -> Cause | None:
    """Why arrays of headers may be missing in the total of the kernel; None: it has them all. ``reached``: the kernel
    and the functions of the file that it may call."""
    names = header_names(ctx.at.unit, ctx.around.file_constants)
    if names is None:
        return Cause(CauseKind.HEADER)
    for function in reached:
        hits = sorted(names & function.definition.words)
        if hits and function is not ctx.at.kernel and function.island.head not in ctx.inlining.done:
            return Cause(CauseKind.HEADER_FUNCTION, names=(hits[0],))
    if not any(names & function.definition.words for function in reached):
        return None
    for function in (ctx.at.kernel, *ctx.inlining.done.values()):
        for name in _unsettled(ctx, function, names):
            return Cause(CauseKind.HEADER_FUNCTION, names=(name,))
    return None


def _unsettled(ctx: Context, function: Function, names: frozenset[str]) -> Iterator[str]:
    """The names in a body, but for those in calls that are followed, that may lead to functions of these names."""
    inlining, tokens = ctx.inlining, function.body.tokens
    head, none = function.island.head, set[int]()
    settled = inlining.settled.get(head, none) - inlining.unsettled.get(head, none)
    wanted = names | inlining.handed.get(function.island.head, set[str]())
    if wanted.isdisjoint(function.definition.words):
        return
    for at, (kind, text) in enumerate(zip(tokens.kinds, tokens.texts)):
        if text in wanted and kind == "NAME" and at not in settled:
            yield text
