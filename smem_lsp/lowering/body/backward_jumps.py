"""``goto`` back to a label of a block around it: what stands between the two is a loop.

A thread that comes to the jump goes through the statements again; one that comes to their end goes on. So they are the
body of a loop whose condition is checked behind it, and the jump leads forward to that.
"""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.ir.causes import CauseKind
from smem_lsp.ir.nodes import (
    Assignment,
    BarrierSite,
    Branch,
    Jump,
    JumpKind,
    Loop,
    Node,
    Seq,
    of_own_iteration,
    walk,
)
from smem_lsp.ir.places import At, Row
from smem_lsp.ir.values import Const, Value, Var, operation
from smem_lsp.lowering.body import forward_jumps
from smem_lsp.lowering.state.context import Context
from smem_lsp.source import checkpoint
from smem_lsp.syntax import tree
from smem_lsp.terms.operators import Operator

_OUTER = (JumpKind.BREAK, JumpKind.CONTINUE)
RESERVED = 4  # points that are kept free behind that of the loop


def repeated(ctx: Context, statements: Sequence[tree.Statement]) -> tuple[int, int] | None:
    """The first label among the statements of a block to which only jumps behind it lead, and the last statement with
    one, as numbers."""
    jumps = forward_jumps.jumps_by_label(ctx)
    for at, label in enumerate(statements):
        checkpoint()
        to = jumps.get(label.name, ()) if isinstance(label, tree.Label) else ()
        if to and to[0] >= label.lo and to[-1] < statements[-1].hi:
            return at, next(i for i in range(at, len(statements)) if to[-1] < statements[i].hi)
    return None


def loop(
    ctx: Context, point: int, label: str, again: int, emitted: list[Node], span: At | None, line: Row
) -> None:
    """Emit the loop. ``point``: its own; ``again``: the variable that says that a thread has jumped."""
    if any(isinstance(node, Jump) and node.kind in _OUTER for node in of_own_iteration(emitted)):
        ctx.limits.note(CauseKind.GOTO_LOOP, line, label)
    condition: Value = operation(Operator.NOT_EQUAL, Var(again), Const(0))
    body = emitted
    last = _last_test(emitted, label)
    if last is not None:
        condition = last.condition
        body = [node for node in emitted if node is not last]
    else:
        with ctx.out.collect() as body:
            ctx.out.emit(Assignment(point + 1, again, Const(0)))
            level = len(ctx.inlining.labels) + 1
            forward_jumps.once(ctx, point + 2, emitted, label, span, line, level=level)
    end = ctx.out.end_of_loop(len(ctx.inlining.labels))
    ctx.out.emit(Loop(point, end, 1, None, condition, None, Seq(tuple(body)), span, line, late=True))


def _last_test(emitted: Sequence[Node], label: str) -> Branch | None:
    """The branch that stands last and jumps, if nothing else does: its condition is that of the loop."""
    last = next((node for node in reversed(emitted) if not isinstance(node, BarrierSite)), None)
    if not isinstance(last, Branch) or last.otherwise.items:
        return None
    jumps = [node for node in walk(Seq(tuple(emitted))) if forward_jumps.leads_to(node, label)]
    plain = all(isinstance(node, Assignment | BarrierSite | Jump) for node in last.then)
    return (
        last if plain and len(jumps) == 1 and jumps[0] in last.then.items and len(_set(last)) == 1 else None
    )


def _set(branch: Branch) -> set[int]:
    """The variables that it assigns."""
    return {node.variable for node in branch.then if isinstance(node, Assignment)}
