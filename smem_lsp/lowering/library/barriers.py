"""Barriers of CUDA that are functions, and ``assert``, in which one may be gone."""

from __future__ import annotations

from dataclasses import replace

from smem_lsp.ir.nodes import Barrier, BarrierKind, CopyWaitKind
from smem_lsp.ir.values import Const, Value
from smem_lsp.lowering.library.copy_groups import CopyEvent, Wait
from smem_lsp.lowering.library.values import arguments_of
from smem_lsp.lowering.state.context import Context
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
    return ctx.out.fresh(uniform=True)


def counted_barrier(ctx: Context, expr: tree.Call, name: str, scope: LocalScope) -> Value | None:
    """``__barrier_sync_count(number, threads)``"""
    if len(expr.arguments) != 2:
        return None
    number, count = arguments_of(ctx, expr, scope)
    ctx.out.named_barrier(expr.lo, expr.hi, number, count, arrives=False)
    return ctx.out.fresh()


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
