"""Cooperative groups: which threads a group object stands for, and what its barrier waits for."""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.ir.causes import CauseKind
from smem_lsp.ir.nodes import BarrierKind, Branch, Seq
from smem_lsp.ir.values import Const, Op, Sym, Thread, Value, operation
from smem_lsp.lowering.callees.library_names import group_exchanges, group_kind
from smem_lsp.lowering.library import barriers
from smem_lsp.lowering.state import effects
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import Group, GroupKind, LocalScope
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics.evaluate import evaluate
from smem_lsp.source import checkpoint
from smem_lsp.syntax import tree
from smem_lsp.syntax.lexer import Tokens
from smem_lsp.targets.every import WARP_SIZE
from smem_lsp.terms.operators import Operator

GROUP_TYPES = {
    "thread_block": GroupKind.BLOCK,
    "grid_group": GroupKind.GRID,
    "cluster_group": GroupKind.CLUSTER,
    "thread_block_tile": GroupKind.WARP,
    "coalesced_group": GroupKind.WARP,
    "thread_group": GroupKind.OTHER,
}
_PARTITIONS = ("binary_partition", "labeled_partition")
_MOST_OF_A_TILE = 1024  # threads

_BARRIERS = {
    GroupKind.BLOCK: BarrierKind.BLOCK,
    GroupKind.GRID: BarrierKind.BLOCK,  # it also orders the threads of each block
    GroupKind.WARP: BarrierKind.WARP,
    GroupKind.TILE: BarrierKind.TILE,
    GroupKind.CLUSTER: BarrierKind.CLUSTER,
    GroupKind.OTHER: BarrierKind.OTHER,
}


def handle(ctx: Context, expr: tree.Expr, scope: LocalScope) -> Group | None:
    """The cooperative group that an expression is; None when it is no group."""
    if isinstance(expr, tree.Name):
        meaning = scope.lookup(expr.text)
        return meaning if isinstance(meaning, Group) else None
    if isinstance(expr, tree.Member):
        member = effects.member(ctx, expr, scope)
        return member if isinstance(member, Group) else None
    if isinstance(expr, tree.Call) and isinstance(expr.callee, tree.Name):
        name = expr.callee.text.split("::")[-1]
        kind = group_kind(name)
        if kind is None or name in ctx.helpers:
            return None
        if name == "tiled_partition":
            return _tile(ctx, expr, expr.callee, scope)
        if name == "this_thread":
            return Group(GroupKind.WARP, 1)
        if name in _PARTITIONS:
            return _partition(ctx, expr, scope)
        for argument in expr.arguments:
            _lend(ctx, argument, scope)
        return Group(kind)
    if isinstance(expr, tree.Cast) and expr.style == "functional" and expr.type.words:
        kind = GROUP_TYPES.get(expr.type.words[-1].split("::")[-1].removesuffix("<>"))
        return None if kind is None else Group(kind)
    return None


def _tile(ctx: Context, expr: tree.Call, callee: tree.Name, scope: LocalScope) -> Group:
    """``tiled_partition<N>(group)`` and ``tiled_partition(group, N)``, where the group is the block or a tile of it."""
    of = handle(ctx, expr.arguments[0], scope) if expr.arguments else None
    given = (callee.arguments[-1] if callee.arguments else None) or expr.arguments[1:]
    size = evaluate(given[0], scope.constant_scope()) if given else None
    if size is None or not 0 < size <= _MOST_OF_A_TILE or size & size - 1:
        return Group(GroupKind.OTHER)
    kind = GroupKind.WARP if size <= WARP_SIZE else GroupKind.TILE
    if of is None or (of.kind is not GroupKind.BLOCK and of.size is None):
        return Group(kind if kind is GroupKind.WARP else GroupKind.OTHER)
    return Group(kind, size, of.size) if of.size is None or of.size % size == 0 else Group(GroupKind.OTHER)


def _partition(ctx: Context, expr: tree.Call, scope: LocalScope) -> Group:
    """``binary_partition(tile, predicate)`` and ``labeled_partition(tile, label)``: lanes with one value."""
    of = handle(ctx, expr.arguments[0], scope) if expr.arguments else None
    given = [ctx.lower.value(ctx, each, scope) for each in expr.arguments[1:]]
    if of is None or of.kind is not GroupKind.WARP or of.size is None or len(given) != 1:
        return Group(GroupKind.WARP)
    label = given[0]
    if isinstance(expr.callee, tree.Name) and expr.callee.text.endswith("binary_partition"):
        label = operation(Operator.NOT_EQUAL, label, Const(0))
    return Group(GroupKind.WARP, None, of.size, ctx.frozen_value(label))


def _lend(ctx: Context, argument: tree.Expr, scope: LocalScope) -> None:
    """``this_thread_block(memory)``: the library has these bytes as long as there are groups."""
    found = ctx.lower.operand(ctx, argument, scope)
    if isinstance(found, Ref):
        line = ctx.at.line(argument.lo)
        ctx.buffers.pin(found.bases, CauseKind.LENT_TO_GROUPS, line, seen=True, within=found.within)


_KEEPS = frozenset(("sync", "tiled_partition", "memcpy_async", "wait", "wait_prior", "binary_partition"))


def keeps_threads(words: Sequence[str], name: str, tokens: Tokens, *, first: int = 0) -> bool:
    """Does a handle that is declared with these specifiers stand for the same kind of group as long as it lives? One of
    any kind, a ``thread_group``, may be assigned another one. ``tokens``: of the body; ``first``: the first use that
    counts."""
    if not any(word.split("::")[-1] == "thread_group" for word in words):
        return True
    kinds, texts = tokens.kinds, tokens.texts
    uses = [
        i
        for i, text in enumerate(texts)
        if text == name and kinds[i] == "NAME" and kinds[i - 1 : i] != ["DOT"]
    ]
    for i in uses[first:]:
        checkpoint()
        asked = texts[i + 1 : i + 2] == ["."]
        handed = texts[i + 1 : i + 2] in ([")"], [","]) and not _KEEPS.isdisjoint(texts[max(0, i - 8) : i])
        if not asked and not handed:
            return False
    return True


def group_of(ctx: Context, expr: tree.Expr, scope: LocalScope) -> GroupKind | None:
    """Kind of the cooperative group that an expression is; None when it is no group."""
    found = handle(ctx, expr, scope)
    return None if found is None else found.kind


def group_barrier(ctx: Context, expr: tree.Call, group: Group, spelling: str) -> None:
    """All threads of a group wait for each other."""
    kind, lanes = _BARRIERS[group.kind], group.size or WARP_SIZE
    mask: Value | None = None
    if group.label is not None:
        alike = Const(_ALL_LANES), group.label, Const(ctx.out.next_point())
        mask, lanes = Op(Operator.CALL, alike, "__match_any_sync"), group.parent or WARP_SIZE
    elif kind is BarrierKind.WARP and group.size is None:
        mask = ctx.out.fresh()  # lanes that are not known
    ctx.out.barrier(kind, expr.lo, expr.hi, spelling, mask, lanes=lanes)


# What groups tell of themselves (CUDA C++ programming guide, "Group Types").
_SIZES = ("size", "num_threads")
_VECTORS = {
    GroupKind.BLOCK: {
        "thread_index": "threadIdx",
        "group_index": "blockIdx",
        "group_dim": "blockDim",
        "dim_threads": "blockDim",
    },
    GroupKind.GRID: {"block_index": "blockIdx", "group_dim": "gridDim", "dim_blocks": "gridDim"},
}


def answer(ctx: Context, name: str, group: Group) -> Value:
    """What a group returns from its method ``name``."""
    vector = _VECTORS.get(group.kind, {}).get(name)
    if vector is not None:
        return coordinates(ctx, vector)
    found: Value | None = None
    if group.kind is GroupKind.BLOCK:
        found = linear_thread_id() if name == "thread_rank" else None
        found = _volume("blockDim") if name in _SIZES else found
    elif group.kind is GroupKind.GRID:
        found = _of_grid(name)
    elif group.size is not None:
        found = _of_tile(name, group.size, group.parent)
    return ctx.out.fresh() if found is None else found


def _of_grid(name: str) -> Value | None:
    if name in ("num_blocks", "group_size"):
        return _volume("gridDim")
    if name in _SIZES:
        return operation(Operator.MULTIPLY, _volume("gridDim"), _volume("blockDim"))
    if name == "block_rank":
        return _linear("blockIdx", "gridDim")
    if name == "thread_rank":
        before = operation(Operator.MULTIPLY, _linear("blockIdx", "gridDim"), _volume("blockDim"))
        return operation(Operator.ADD, before, linear_thread_id())
    return None


def _of_tile(name: str, size: int, parent: int | None) -> Value | None:
    within = linear_thread_id()
    if parent is not None:
        within = operation(Operator.REMAINDER, within, Const(parent))
    match name:
        case "thread_rank":
            return operation(Operator.REMAINDER, linear_thread_id(), Const(size))
        case "meta_group_rank":
            return operation(Operator.DIVIDE, within, Const(size))
        case "meta_group_size" if parent is not None:
            return Const(parent // size)
        case "meta_group_size":
            rounded = operation(Operator.ADD, _volume("blockDim"), Const(size - 1))
            return operation(Operator.DIVIDE, rounded, Const(size))
    return Const(size) if name in _SIZES else None


def synchronise(ctx: Context, expr: tree.Call, group: Group) -> None:
    spelling = "".join(ctx.at.body.tokens.texts[ctx.at.base + expr.lo : ctx.at.base + expr.hi]) + ";"
    group_barrier(ctx, expr, group, spelling)


def linear_thread_id() -> Value:
    """``threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)``."""
    return _linear("threadIdx", "blockDim")


def coordinates(ctx: Context, vector: str) -> Value:
    """``threadIdx``, ``blockIdx``, ``blockDim`` or ``gridDim`` as an object."""
    made: Value = ctx.out.fresh()
    for axis in "xyz":
        made = Op(Operator.SET_MEMBER, (made, _coordinate(vector, axis)), axis)
    return made


def _coordinate(vector: str, axis: str) -> Value:
    return Thread(axis) if vector == "threadIdx" else Sym(f"{vector}.{axis}")


def _linear(index: str, extent: str) -> Value:
    x, y, z = (_coordinate(index, axis) for axis in "xyz")
    inner = operation(Operator.ADD, y, operation(Operator.MULTIPLY, Sym(f"{extent}.y"), z))
    return operation(Operator.ADD, x, operation(Operator.MULTIPLY, Sym(f"{extent}.x"), inner))


def _volume(extent: str) -> Value:
    """How many threads or blocks an extent stands for."""
    x, y, z = (Sym(f"{extent}.{axis}") for axis in "xyz")
    return operation(Operator.MULTIPLY, operation(Operator.MULTIPLY, x, y), z)


def sync_call(ctx: Context, expr: tree.Call, name: str, scope: LocalScope) -> Value | None:
    """``cooperative_groups::sync(group)``"""
    if len(expr.arguments) != 1 or name in ctx.helpers:
        return None
    group = handle(ctx, expr.arguments[0], scope)
    if group is None:
        return None
    synchronise(ctx, expr, group)
    return ctx.out.fresh()


def group_made(ctx: Context, expr: tree.Call, name: str, scope: LocalScope) -> Value:
    """``this_thread_block()``, ``tiled_partition<32>(block)``: a group that no variable holds."""
    for argument in expr.arguments:
        if group_of(ctx, argument, scope) is None:
            ctx.lower.value(ctx, argument, scope)
    return ctx.out.fresh()


def collective(ctx: Context, expr: tree.Call, name: str, scope: LocalScope) -> Value | None:
    """``cooperative_groups::reduce(tile, value, cooperative_groups::plus<int>())``: lanes exchange values; None:
    another function."""
    group = handle(ctx, expr.arguments[0], scope) if len(expr.arguments) in (2, 3) else None
    if group is None or group.kind is not GroupKind.WARP:
        return None
    given = ctx.lower.value(ctx, expr.arguments[1], scope)
    operator = expr.arguments[2] if len(expr.arguments) == 3 else None
    known = (
        isinstance(operator, tree.Call) and isinstance(operator.callee, tree.Name) and not operator.arguments
    )
    known = known or (isinstance(operator, tree.Cast) and isinstance(operator.operand, tree.Braces))
    if operator is not None and not known:
        return None
    ctx.out.exchange(expr.lo, expr.hi, name, None)
    return _exchanged(ctx, name, [given], group)


def by_one(ctx: Context, expr: tree.Call, name: str, scope: LocalScope) -> Value | None:
    """``cooperative_groups::invoke_one(group, f, x)``: one thread of the group, any, calls ``f(x)``; all get what it
    returns from ``invoke_one_broadcast``. None: another function."""
    group = handle(ctx, expr.arguments[0], scope) if len(expr.arguments) > 1 else None
    if group is None:
        return None
    point, chosen = ctx.out.next_point(), _is_chosen(ctx, group)
    with ctx.out.collect() as items:
        called = tree.Call(expr.lo, expr.hi, expr.arguments[1], expr.arguments[2:])
        result = ctx.lower.value(ctx, called, scope)
    ctx.out.emit(
        Branch(point, chosen, Seq(tuple(items)), Seq(), ctx.at.span(expr.lo, expr.hi), ctx.at.line(expr.lo))
    )
    if name == "invoke_one":
        return ctx.out.fresh()
    ctx.out.exchange(expr.lo, expr.hi, name, None)
    return _exchanged(ctx, name, [result], group)


def _is_chosen(ctx: Context, group: Group) -> Value:
    """Is it the one thread of its group that is chosen?"""
    rank = answer(ctx, "thread_rank", group)
    if group.kind is GroupKind.BLOCK:
        return Op(Operator.EQUAL, (rank, ctx.out.fresh(drawn=True)))
    if group.size == WARP_SIZE:
        return Op(Operator.EQUAL, (rank, _exchanged(ctx, "reduce", [ctx.out.fresh()], group)))
    return ctx.out.fresh()


def _exchanged(ctx: Context, name: str, given: Sequence[Value], group: Group) -> Value:
    """What lanes get that exchange values: a function of what all of them give, another one at each place, since the
    lanes that take part may be others. All lanes of a warp get one answer of a vote or a reduction among them all."""
    name = name.split("::")[-1]
    if name in _SHUFFLES and group.size is not None and len(given) == 2:
        return Op(Operator.CALL, (Const(_ALL_LANES), *given, Const(group.size)), f"__{name}_sync")
    kind = _JOINT.get(name, f"group_{name}") if group.size == WARP_SIZE else f"group_{name}"
    return Op(Operator.CALL, (Const(_ALL_LANES), *given, Const(ctx.out.next_point())), f"__{kind}_sync")


_ALL_LANES = 0xFFFFFFFF
_SHUFFLES = ("shfl", "shfl_up", "shfl_down", "shfl_xor")
_JOINT = {
    "reduce": "reduce_group",
    "invoke_one_broadcast": "reduce_group",
    "any": "any",
    "all": "all",
    "ballot": "ballot",
}


def method(ctx: Context, expr: tree.Call, callee: tree.Member, scope: LocalScope) -> Value | None:
    """A method of a group; None: of something else."""
    group = handle(ctx, callee.base, scope)
    if group is None:
        return None
    kind = group.kind
    given = [ctx.lower.value(ctx, argument, scope) for argument in expr.arguments]
    if callee.name == "sync":
        synchronise(ctx, expr, group)
    elif callee.name in ("barrier_arrive", "barrier_wait"):
        half = barriers.arrive if callee.name == "barrier_arrive" else barriers.wait
        half(ctx, _BARRIERS[kind], expr.lo, expr.hi, f"{callee.name}();")
    if kind is GroupKind.CLUSTER and callee.name == "map_shared_rank":
        ctx.out.remote(expr.lo, expr.hi)
    if kind is GroupKind.WARP and callee.name in group_exchanges():
        ctx.out.exchange(expr.lo, expr.hi, callee.name, None)
        return _exchanged(ctx, callee.name, given, group)
    return answer(ctx, callee.name, group)
