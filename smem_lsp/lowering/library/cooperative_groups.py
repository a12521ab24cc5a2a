"""Cooperative groups: which threads a group object stands for, and what its barrier waits for."""

from __future__ import annotations

from smem_lsp.ir.nodes import BarrierKind
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import Group, GroupKind, LocalScope
from smem_lsp.syntax import tree

_GROUP_FACTORIES = {
    "this_thread_block": GroupKind.BLOCK,
    "this_grid": GroupKind.GRID,
    "this_cluster": GroupKind.CLUSTER,
    "tiled_partition": GroupKind.WARP,
    "coalesced_threads": GroupKind.WARP,
    "labeled_partition": GroupKind.WARP,
    "binary_partition": GroupKind.WARP,
    "this_thread": GroupKind.OTHER,
}


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
        return _GROUP_FACTORIES.get(name)
    if isinstance(expr, tree.Cast) and expr.style == "functional":
        return (
            GROUP_TYPES.get(expr.type.words[-1].split("::")[-1].removesuffix("<>"))
            if expr.type.words
            else None
        )
    return None


def group_barrier(ctx: Context, expr: tree.Call, kind: GroupKind, spelling: str) -> None:
    """All threads of a group of this kind wait for each other."""
    ctx.barrier(_BARRIERS[kind], expr.lo, expr.hi, spelling)
