"""Asynchronous copies are committed or waited for."""

from __future__ import annotations

from smem_lsp.ir.copy_events import OPEN, CopyEvent, wait_for
from smem_lsp.lowering.state.context import Context


def mark(ctx: Context, event: CopyEvent, lo: int, bound: int = OPEN, arrival: int = 0, left: int = 0) -> None:
    """Copies are committed or waited for. ``bound``: the object that they are bound to, a barrier by its buffer;
    ``left``: groups that stay open."""
    ctx.copies.waits = True
    ctx.out.emit(wait_for(ctx.out.next_point(), event, ctx.at.line(lo), bound, arrival, left))
    ctx.out.reserve(ctx.copies.landings)
