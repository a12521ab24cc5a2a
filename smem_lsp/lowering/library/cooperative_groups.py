"""Cooperative groups: which threads a group object stands for, and what its barrier waits for."""

from __future__ import annotations

from smem_lsp.ir.nodes import BarrierKind
from smem_lsp.ir.values import Const, Operator, Sym, Thread, Value, operation
from smem_lsp.lowering.callees.intrinsics import GROUP_EXCHANGES
from smem_lsp.lowering.callees.library_names import GROUP_FACTORIES
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import Group, GroupKind, LocalScope
from smem_lsp.semantics.evaluate import evaluate
from smem_lsp.syntax import tree

GROUP_TYPES = {
    "thread_block": GroupKind.BLOCK,
    "grid_group": GroupKind.GRID,
    "cluster_group": GroupKind.CLUSTER,
    "thread_block_tile": GroupKind.WARP,
    "coalesced_group": GroupKind.WARP,
    "thread_group": GroupKind.OTHER,
}

_BARRIERS = {
    GroupKind.BLOCK: BarrierKind.BLOCK,
    GroupKind.GRID: BarrierKind.BLOCK,  # it also orders the threads of each block
    GroupKind.WARP: BarrierKind.WARP,
    GroupKind.CLUSTER: BarrierKind.CLUSTER,
    GroupKind.OTHER: BarrierKind.OTHER,
}


def group_of(ctx: Context, expr: tree.Expr, scope: LocalScope) -> GroupKind | None:
    """Kind of the cooperative group that an expression is; None when it is no group."""
    if isinstance(expr, tree.Name):
        meaning = scope.lookup(expr.text)
        return meaning.kind if isinstance(meaning, Group) else None
    if isinstance(expr, tree.Call) and isinstance(expr.callee, tree.Name):
        name = expr.callee.text.split("::")[-1]
        if name == "this_thread_block" and expr.arguments:
            return None
        return GROUP_FACTORIES.get(name)
    if isinstance(expr, tree.Cast) and expr.style == "functional":
        return (
            GROUP_TYPES.get(expr.type.words[-1].split("::")[-1].removesuffix("<>"))
            if expr.type.words
            else None
        )
    return None


def group_barrier(ctx: Context, expr: tree.Call, kind: GroupKind, spelling: str) -> None:
    """All threads of a group of this kind wait for each other."""
    ctx.out.barrier(_BARRIERS[kind], expr.lo, expr.hi, spelling)


def tile_size(ctx: Context, expr: tree.Expr, scope: LocalScope) -> int | None:
    """N of ``tiled_partition<N>(group)`` where the group is the block or a tile of it."""
    if isinstance(expr, tree.Name):
        meaning = scope.lookup(expr.text)
        return meaning.size if isinstance(meaning, Group) else None
    if not (isinstance(expr, tree.Call) and isinstance(expr.callee, tree.Name) and len(expr.arguments) == 1):
        return None
    given = expr.callee.arguments[-1] if expr.callee.arguments else None
    if expr.callee.text.split("::")[-1] != "tiled_partition" or not given:
        return None
    if group_of(ctx, expr.arguments[0], scope) is not GroupKind.BLOCK and not tile_size(
        ctx, expr.arguments[0], scope
    ):
        return None
    size = evaluate(given[0], scope.constant_scope())
    return size if size is not None and size > 0 else None


def answer(ctx: Context, callee: tree.Member, kind: GroupKind, scope: LocalScope) -> Value:
    """What a group tells of itself."""
    if kind is GroupKind.BLOCK and callee.name == "thread_rank":
        return linear_thread_id()
    size = tile_size(ctx, callee.base, scope)
    if size is None:
        return ctx.out.fresh()
    match callee.name:
        case "thread_rank":
            return operation(Operator.REMAINDER, linear_thread_id(), Const(size))
        case "meta_group_rank":
            return operation(Operator.DIVIDE, linear_thread_id(), Const(size))
        case "size" | "num_threads":
            return Const(size)
    return ctx.out.fresh()


def synchronise(ctx: Context, expr: tree.Call, kind: GroupKind) -> None:
    spelling = "".join(ctx.at.body.tokens.texts[ctx.at.base + expr.lo : ctx.at.base + expr.hi]) + ";"
    group_barrier(ctx, expr, kind, spelling)


def linear_thread_id() -> Value:
    """``threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)``."""
    inner = operation(Operator.ADD, Thread("y"), operation(Operator.MULTIPLY, Sym("blockDim.y"), Thread("z")))
    return operation(Operator.ADD, Thread("x"), operation(Operator.MULTIPLY, Sym("blockDim.x"), inner))


def sync_call(ctx: Context, expr: tree.Call, name: str, scope: LocalScope) -> Value | None:
    """``cooperative_groups::sync(group)``"""
    if len(expr.arguments) != 1 or name in ctx.helpers:
        return None
    kind = group_of(ctx, expr.arguments[0], scope)
    if kind is None:
        return None
    synchronise(ctx, expr, kind)
    return ctx.out.fresh()


def group_made(ctx: Context, expr: tree.Call, name: str, scope: LocalScope) -> Value:
    """``this_thread_block()``, ``tiled_partition<32>(block)``: a group that no variable holds."""
    for argument in expr.arguments:
        if group_of(ctx, argument, scope) is None:
            ctx.lower.value(ctx, argument, scope)
    return ctx.out.fresh()


def method(ctx: Context, expr: tree.Call, callee: tree.Member, scope: LocalScope) -> Value | None:
    """A method of a group; None: of something else."""
    kind = group_of(ctx, callee.base, scope)
    if kind is None:
        return None
    for argument in expr.arguments:
        ctx.lower.value(ctx, argument, scope)
    if callee.name in ("sync", "barrier_wait"):
        synchronise(ctx, expr, kind)
    if kind is GroupKind.CLUSTER and callee.name == "map_shared_rank":
        ctx.out.remote(expr.lo, expr.hi)
    if kind is GroupKind.WARP and callee.name in GROUP_EXCHANGES:
        ctx.out.exchange(expr.lo, expr.hi, callee.name, None)
    return answer(ctx, callee, kind, scope)
