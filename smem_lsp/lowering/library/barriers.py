"""Barriers of CUDA that are functions, the two halves of others, and ``assert``, in which one may be gone.

A thread that is at the first half of a barrier goes on: what it does from there to the second half comes in no order
with what others do on either side. Where it does nothing there that matters, the second half is a barrier.
"""

from __future__ import annotations

from dataclasses import replace

from smem_lsp.ir.copy_events import CopyEvent, Wait
from smem_lsp.ir.nodes import (
    Assignment,
    Barrier,
    BarrierKind,
    BarrierSite,
    CopyWait,
    CopyWaitKind,
    GlobalAccess,
    Node,
    WarpCollective,
)
from smem_lsp.ir.values import Const, Value
from smem_lsp.lowering.library.values import arguments_of
from smem_lsp.lowering.state.context import Arrival, Context
from smem_lsp.lowering.state.local_scope import LocalScope
from smem_lsp.syntax import tree

_ALL_LANES = Const(0xFFFFFFFF)


def block_barrier(ctx: Context, expr: tree.Call, name: str, scope: LocalScope) -> Value:
    """``__syncthreads()`` and the like; ``__barrier_sync(n)`` is a named one."""
    arguments = arguments_of(ctx, expr, scope)
    if name in ctx.dialect.numbered_barriers and arguments[:1] != [Const(0)]:
        ctx.out.named_barrier(expr.lo, expr.hi, arguments[0] if arguments else None, None, arrives=False)
    else:
        ctx.out.barrier(
            BarrierKind.BLOCK,
            expr.lo,
            expr.hi,
            f"{ctx.dialect.block_barrier}();",
            votes=name in ctx.dialect.voting_barriers,
        )
    return ctx.out.fresh(drawn=True)


def counted_barrier(ctx: Context, expr: tree.Call, name: str, scope: LocalScope) -> Value | None:
    """``__barrier_sync_count(number, threads)``"""
    if len(expr.arguments) != 2:
        return None
    number, count = arguments_of(ctx, expr, scope)
    ctx.out.named_barrier(expr.lo, expr.hi, number, count, arrives=False)
    return ctx.out.fresh()


def arrive(ctx: Context, kind: BarrierKind, lo: int, hi: int, spelling: str) -> None:
    """All threads say that they are there."""
    items = ctx.out.items
    ctx.arrivals[kind] = Arrival(items, len(items), ctx.out.half(lo, hi, spelling, arrives=True))


def wait(ctx: Context, kind: BarrierKind, lo: int, hi: int, spelling: str) -> None:
    """They wait for what others have done before they said so."""
    arrival = ctx.arrivals.pop(kind, None)
    if arrival is None or arrival.items is not ctx.out.items:
        ctx.out.half(lo, hi, spelling, arrives=False)
    elif is_at_once(ctx, arrival):
        ctx.out.emit(Barrier(ctx.out.next_point(), kind, None, ctx.at.line(lo), spelling))
    else:
        ctx.out.half(lo, hi, spelling, arrival.point, arrives=False)


def is_at_once(ctx: Context, arrival: Arrival, *, copies: bool = True) -> bool:
    """Does a thread do nothing that matters since it has arrived? Then it is taken to arrive here. ``copies``: it may
    have some under way, for which it may have waited meanwhile."""
    since = arrival.items[arrival.index + 1 :]
    if arrival.items is not ctx.out.items:
        return False
    if not all(_is_of_the_thread(node) or (isinstance(node, CopyWait) and not copies) for node in since):
        return False
    arrival.items[arrival.index] = Assignment(arrival.point, ctx.variables.declare("arrived"), Const(0))
    return True


def _is_of_the_thread(node: Node) -> bool:
    """Is it nothing that shared memory, or who waits for whom, has to do with?"""
    return isinstance(node, Assignment | GlobalAccess | BarrierSite | WarpCollective)


def warp_barrier(ctx: Context, expr: tree.Call, name: str, scope: LocalScope) -> Value:
    lanes = arguments_of(ctx, expr, scope)
    ctx.out.barrier(BarrierKind.WARP, expr.lo, expr.hi, f"{name}();", lanes[0] if lanes else _ALL_LANES)
    return ctx.out.fresh()


def assertion(ctx: Context, expr: tree.Call, name: str, scope: LocalScope) -> Value:
    """``assert`` is gone under NDEBUG, and a barrier in it with it."""
    with ctx.out.collect() as items:
        arguments_of(ctx, expr, scope)
    for item in items:
        if isinstance(item, Barrier):
            item = replace(item, kind=BarrierKind.OTHER)
        elif isinstance(item, Wait):
            item = replace(item, event=CopyEvent.UNKNOWN, kind=CopyWaitKind.UNKNOWN)
        ctx.out.emit(item)
    return ctx.out.fresh()
