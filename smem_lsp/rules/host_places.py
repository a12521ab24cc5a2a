"""Where findings about host code stand, and what would cure them."""

from __future__ import annotations

from smem_lsp.analysis.host.api import ALLOCATION, EVENT, GRAPH, GRAPH_EXEC, POOL, STREAM
from smem_lsp.analysis.host.model import HostTouch, Leak, Misorder, Statement, Tokens
from smem_lsp.rules.facts import FileFacts
from smem_lsp.rules.model import ChangeHost, HostCall, Remedy
from smem_lsp.source import Span
from smem_lsp.syntax.parse import Function

_RELEASE = {
    STREAM: "StreamDestroy",
    EVENT: "EventDestroy",
    GRAPH: "GraphDestroy",
    GRAPH_EXEC: "GraphExecDestroy",
    POOL: "MemPoolDestroy",
}


def site(function: Function, place: Tokens) -> Span:
    """Where to point for tokens of a function."""
    return function.body.site(*place)


def ending(function: Function, place: Tokens) -> Span:
    """The same; behind the last token of the body stands its closing brace."""
    if place[0] < len(function.body.tokens.kinds):
        return function.body.site(*place)
    island = function.definition.island
    offset = function.definition.tokens.offsets[
        min(island.body[1], len(function.definition.tokens.kinds) - 1)
    ]
    start = function.start + (offset if offset >= 0 else -1 - offset)
    return Span(start, start + 1)


def _written(function: Function, place: Tokens) -> Span | None:
    """Where tokens are spelled; None: somewhere in a macro."""
    if place[0] >= len(function.body.tokens.kinds):
        island = function.definition.island
        if function.body.repaired or island.body[1] >= len(function.definition.tokens.kinds):
            return None
        return ending(function, place) if function.definition.tokens.offsets[island.body[1]] >= 0 else None
    return function.body.span_between(*place)


def _before(function: Function, statement: Statement, call: str) -> HostCall | None:
    """A call before a statement."""
    where = _written(function, statement.place)
    if where is None:
        return None
    closes = function.body.tokens.texts[statement.place[0] : statement.place[1]] == ["}"]
    closes = closes or statement.place[0] >= len(function.body.tokens.kinds)
    return HostCall(where, call, statement.alone, closes)


def releasing(facts: FileFacts, function: Function, leak: Leak) -> Remedy | None:
    """Release it on each path that does not, if all have it there. An allocation has to be freed in the order of a
    stream, which need not live there any more; of an array nobody knows how many there are."""
    made = leak.made
    assert facts.host is not None
    runtime = facts.host.dialect.runtime_api[0]
    texts = function.body.tokens.texts
    if made.several or made.kind == ALLOCATION or not texts[made.call[0]].startswith(runtime):
        return None
    if any(
        each.how == "again" or not each.sure or made.name in texts[slice(*each.place)] for each in leak.exits
    ):
        return None
    call = f"{runtime}{_RELEASE[made.kind]}({made.name});"
    calls = [_before(function, Statement(each.place, each.alone), call) for each in leak.exits]
    if any(each is None for each in calls):
        return None
    title = f"Add `{call.rstrip(';')}`" + (" on each path" if len(calls) > 1 else "")
    return ChangeHost(-1, title, tuple(each for each in calls if each is not None))


def waiting(facts: FileFacts, function: Function, touch: HostTouch) -> Remedy | None:
    """Let the host wait before it touches the memory."""
    assert facts.host is not None
    runtime = facts.host.dialect.runtime_api[0]
    call = f"{runtime}DeviceSynchronize();"
    if touch.handle is not None:
        call = f"{runtime}StreamSynchronize({touch.handle});"
    where = _before(function, touch.statement, call)
    if where is None:
        return None
    line = facts.source.line_number(where.statement.start)
    return ChangeHost(-1, f"Add `{call.rstrip(';')}` before line {line}", (where,))


def ordering(facts: FileFacts, function: Function, found: Misorder) -> Remedy | None:
    """Free memory in the only stream that uses it, or let the one stream wait for the other."""
    assert facts.host is not None
    runtime = facts.host.dialect.runtime_api[0]
    argument = None if found.argument is None else function.body.span(*found.argument)
    if found.handle is None or found.how not in ("free", "use"):
        return None
    if found.how == "free" and found.sole and argument is not None:
        return ChangeHost(
            -1, f"Free `{found.made.name}` in `{found.handle}`", (), ((argument, found.handle),)
        )
    waits = found.stream.strip("`")
    if not waits.isidentifier() or waits == found.stream:
        return None
    event = _free_name(function, "ready")
    calls = (
        f"{runtime}Event_t {event};",
        f"{runtime}EventCreateWithFlags(&{event}, {runtime}EventDisableTiming);",
        f"{runtime}EventRecord({event}, {found.handle});",
        f"{runtime}StreamWaitEvent({waits}, {event}, 0);",
        f"{runtime}EventDestroy({event});",
    )
    where = _before(function, found.statement, "\n".join(calls))
    if where is None:
        return None
    return ChangeHost(-1, f"Let `{waits}` wait for `{found.handle}`", (where,))


def _free_name(function: Function, name: str) -> str:
    """A name that the function does not have."""
    words = function.definition.words
    return next(each for each in (name, *(f"{name}_{at}" for at in range(2, 100))) if each not in words)
