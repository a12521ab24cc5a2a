"""Calls behind which no thread goes on: the launch is over (``__trap()``), or the author states that nobody comes there
(``__builtin_unreachable()``). What follows is of the threads that have not come to one, as behind ``return``."""

from __future__ import annotations

from smem_lsp.ir.nodes import Jump, JumpKind
from smem_lsp.ir.values import Value
from smem_lsp.lowering.library.values import arguments_of
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import LocalScope
from smem_lsp.syntax import tree


def ending(ctx: Context, expr: tree.Call, name: str, scope: LocalScope) -> Value:
    """``__trap()`` and the like, wherever they are called."""
    arguments_of(ctx, expr, scope)
    leave(ctx, expr.lo)
    return ctx.out.fresh()


def leave(ctx: Context, lo: int) -> None:
    """The thread goes on nowhere. ``lo``: a token of the chunk."""
    ctx.out.emit(Jump(ctx.out.next_point(), JumpKind.RETURN, ctx.at.line(lo)))
