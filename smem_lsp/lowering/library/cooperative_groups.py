"""Cooperative groups: which threads a group object stands for, and what its barrier waits for."""

from __future__ import annotations

from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import Group, LocalScope
from smem_lsp.syntax import tree

_GROUP_FACTORIES = {
    "this_thread_block": "block",
    "this_grid": "grid",
    "this_cluster": "cluster",
    "tiled_partition": "warp",
    "coalesced_threads": "warp",
    "labeled_partition": "warp",
    "binary_partition": "warp",
    "this_thread": "other",
}


GROUP_TYPES = {
    "thread_block": "block",
    "grid_group": "grid",
    "cluster_group": "cluster",
    "thread_block_tile": "warp",
    "coalesced_group": "warp",
    "thread_group": "other",
}


def group_of(ctx: Context, expr: tree.Expr, scope: LocalScope) -> str | None:
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


def group_barrier(ctx: Context, expr: tree.Call, kind: str, spelling: str) -> None:
    """All threads of a group of this kind wait for each other."""
    # a grid barrier also orders the threads of each block
    ctx.barrier("block" if kind in ("block", "grid") else kind, expr.lo, expr.hi, spelling)
