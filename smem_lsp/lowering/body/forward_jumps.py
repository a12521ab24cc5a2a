"""Jumps that leave a region for what stands behind it: ``return`` in a function that is inlined, ``goto`` to a label.

The region becomes a loop that runs once, and what leaves it a ``break``; from inside other loops with a flag set, which
leaves them one by one. What leaves a loop around the region, ``break`` and ``continue``, goes the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from smem_lsp.ir.nodes import (
    Assignment,
    BarrierSite,
    Branch,
    Jump,
    JumpKind,
    Loop,
    Node,
    Seq,
    inside_changed,
    of_own_iteration,
    walk,
)
from smem_lsp.ir.places import At, Row
from smem_lsp.ir.values import Const, Var, operation
from smem_lsp.lowering.state.context import Context
from smem_lsp.source import checkpoint, record
from smem_lsp.syntax import tree
from smem_lsp.terms.operators import Operator

_OUTER = (JumpKind.BREAK, JumpKind.CONTINUE)  # by number - 1 in the flag that says how to go on


@record
class Leaving:
    """``target``: the label, "" for the end of a function; ``flag``: the variable that says that a thread goes there;
    ``level``: which of the points that are kept free behind each loop are for this; ``onward``: the variable that says
    which loop around a thread leaves, None: there is none around."""

    target: str
    flag: int
    level: int
    onward: int | None = None


def once(
    ctx: Context,
    point: int,
    emitted: list[Node],
    target: str,
    span: At | None,
    line: Row,
    *,
    level: int,
) -> None:
    """Emit a region. ``point``: its own, behind which two are kept free."""
    if _any_leads(emitted, target):
        emitted = without_last(emitted, target)
    if not _any_leads(emitted, target):
        for item in emitted:
            ctx.out.emit(item)
        return
    outer = {
        node.kind for node in of_own_iteration(emitted) if isinstance(node, Jump) and node.kind in _OUTER
    }
    flag = ctx.variables.declare("left")
    body: list[Node] = [Assignment(point + 1, flag, Const(0))]
    onward = ctx.variables.declare("onward") if outer else None
    if onward is not None:
        body.append(Assignment(point + 2, onward, Const(0)))
    body += _as_breaks(emitted, Leaving(target, flag, level, onward), nested=False)
    # nothing in a function leaves more than the function
    end = ctx.out.end_of_loop(len(ctx.inlining.labels)) if target else ctx.out.next_point()
    ctx.out.emit(Loop(point, end, 1, 1, Const(0), None, Seq(tuple(body)), span, line))
    for kind in _OUTER if onward is not None else ():
        if kind in outer:
            ctx.out.emit(_if_set(ctx.out.next_point(), ctx.out.next_point(), onward, kind, span, line))


def leads_to(node: Node, target: str) -> bool:
    """Is it a jump to this label?"""
    return isinstance(node, Jump) and node.kind is JumpKind.LEAVE and node.target == target


def _any_leads(items: Sequence[Node], target: str) -> bool:
    return any(leads_to(node, target) for node in walk(Seq(tuple(items))))


def without_last(items: Sequence[Node], target: str) -> list[Node]:
    """A jump that stands last, in an arm of a branch too, leads to where a thread comes anyway. What stands behind it
    is never reached."""
    kept = list(items)
    for at in reversed(range(len(kept))):
        checkpoint()
        last = kept[at]
        if leads_to(last, target):
            del kept[at:]
        elif isinstance(last, Branch):
            kept[at] = inside_changed(last, partial(without_last, target=target))
            break
        elif not isinstance(last, BarrierSite):
            break
    return kept


def _if_set(point: int, inside: int, flag: int | None, kind: JumpKind, span: At | None, line: Row) -> Branch:
    wanted = operation(Operator.EQUAL, Var(flag or 0), Const(1 + _OUTER.index(kind)))
    return Branch(point, wanted, Seq((Jump(inside, kind, line),)), Seq(), span, line)


def _as_breaks(items: Sequence[Node], leaving: Leaving, *, nested: bool) -> list[Node]:
    """The points for this were kept free behind the jump and behind the loop."""
    out: list[Node] = []
    for item in items:
        if isinstance(item, Jump) and leads_to(item, leaving.target):
            if nested:
                out.append(Assignment(item.point, leaving.flag, Const(1)))
            out.append(Jump(item.point + nested, JumpKind.BREAK, item.line))
        elif isinstance(item, Jump) and item.kind in _OUTER and not nested and leaving.onward is not None:
            out.append(Assignment(item.point, leaving.onward, Const(1 + _OUTER.index(item.kind))))
            out.append(Jump(item.point + 1, JumpKind.BREAK, item.line))
        elif isinstance(item, Branch):
            out.append(inside_changed(item, partial(_as_breaks, leaving=leaving, nested=nested)))
        elif isinstance(item, Loop) and any(leads_to(each, leaving.target) for each in walk(item.body)):
            out.append(inside_changed(item, partial(_as_breaks, leaving=leaving, nested=True)))
            left = operation(Operator.NOT_EQUAL, Var(leaving.flag), Const(0))
            free = item.end_point + 1 + 2 * leaving.level
            jump = Jump(free + 1, JumpKind.BREAK, item.line)
            out.append(Branch(free, left, Seq((jump,)), Seq(), item.span, item.line))
        else:
            out.append(item)
    return out


def jumps_by_label(ctx: Context) -> dict[str, list[int]]:
    """Where the function jumps (tokens), by label."""
    tokens = ctx.at.body.tokens
    known = ctx.inlining.jumps.get(id(tokens))
    if known is not None:
        return known
    jumps: dict[str, list[int]] = {}
    for i, kind in enumerate(tokens.kinds[:-1]):
        if kind == "GOTO":
            jumps.setdefault(tokens.texts[i + 1], []).append(i)
    ctx.inlining.jumps[id(tokens)] = jumps
    return jumps


def region(ctx: Context, statements: Sequence[tree.Statement]) -> tuple[int, int] | None:
    """The last label among the statements of a block to which jumps from earlier ones lead, and no others: the number
    of the first statement with one, or with one to a label in between, and its own."""
    jumps, tokens = jumps_by_label(ctx), ctx.at.body.tokens
    start, found = len(tokens), -1
    for at in reversed(range(len(statements))):
        checkpoint()
        label = statements[at]
        to = jumps.get(label.name, ()) if isinstance(label, tree.Label) else ()
        if to and statements[0].lo <= to[0] and to[-1] < label.lo and (found < 0 or start < label.lo):
            found, start = max(at, found), min(start, to[0])
    return None if found < 0 else (next(i for i in range(found) if start < statements[i].hi), found)
