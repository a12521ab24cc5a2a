"""Asynchronous copies into shared memory: in flight from their issue to the wait that covers them.

A copy writes its destination at any time between the two. So the issue is a write, and the wait an update of every
buffer that may be in flight there: the buffer is live from the one to the other, whatever barriers stand between. A
thread waits for its own copies only; for those of other threads a barrier has to follow, as after any write. Where a
copy may still be in flight at the end of the kernel, its buffer keeps its bytes.

``cp.async`` is waited for in groups (PTX ISA, "cp.async.wait_group"): a copy belongs to none before the next commit,
and only a wait that leaves no group open is followed. Copies bound to a ``cuda::barrier`` land before its phase ends,
those of a stage of a ``cuda::pipeline`` before its consumers have waited for the stage.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from smem_lsp.ir.nodes import Access, AccessKind, Branch, Loop, Node, Proxy, ProxyKind
from smem_lsp.ir.values import Bytes, Const, Value
from smem_lsp.lowering.callees.intrinsics import ASYNC_COPIES
from smem_lsp.lowering.library import cooperative_groups, cuda_pipeline, final_wait, mbarriers
from smem_lsp.lowering.library.copy_groups import OPEN, CopyEvent, Flights, mark, settled
from smem_lsp.lowering.state import effects
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import BufferName, GroupKind, LocalScope, Variable
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics.evaluate import evaluate
from smem_lsp.syntax import tree

WIDEST = 16  # bytes that one thread copies at a time, and what they are aligned to; bulk copies, too
TENSOR = 128  # what tensor copies are aligned to (CUDA programming guide, "Tensor Memory Accelerator")

# <cuda/barrier>, <cuda/ptx>, and what CUTLASS calls them
_PROXY_FENCES = frozenset(
    ("fence_proxy_async_shared_cta", "fence_proxy_async", "tma_store_fence", "fence_view_async_shared")
)
_BULK_GROUPS = frozenset(
    ("cp_async_bulk_commit_group", "cp_async_bulk_wait_group", "cp_async_bulk_wait_group_read")
)
_PTX_COPIES = frozenset(("cp_async_bulk", "cp_async_bulk_tensor"))
_BULK = re.compile(r"cp_(?:reduce_)?async_bulk(?!\w*_group)(_tensor)?")
_BULK_STORES = re.compile(r"cp_async_bulk(?:_tensor_\dd)?_shared_to_global")


def copying_call(ctx: Context, expr: tree.Call, name: str, scope: LocalScope) -> Value | None:
    """A call of CUDA that issues, commits or waits for asynchronous copies; None: another function."""
    if name in ASYNC_COPIES:
        _issue(ctx, expr, name, scope)
    elif name == "__pipeline_commit" and not expr.arguments:
        mark(ctx, CopyEvent.COMMIT, expr.lo)
    elif name == "__pipeline_wait_prior" and len(expr.arguments) == 1:
        given = ctx.lower.value(ctx, expr.arguments[0], scope)
        wait_prior(ctx, given.n if isinstance(given, Const) else None, expr.lo)
    elif name in ("wait", "wait_prior") and len(expr.arguments) == 1:
        group = cooperative_groups.handle(ctx, expr.arguments[0], scope)
        if group is None:
            return None
        wait_prior(ctx, 0 if name == "wait" else _first_argument(expr, scope), expr.lo)
        cooperative_groups.group_barrier(
            ctx, expr, group, f"{ctx.dialect.block_barrier}();"
        )  # both end in group.sync()
    elif name in _PROXY_FENCES:
        proxy_fence(ctx, expr.lo, expr.hi)
    elif _BULK_STORES.fullmatch(name) or _stores(expr, name):
        _bulk_store(ctx, expr, name, scope)
    elif name in _BULK_GROUPS and len(expr.arguments) <= 1:
        bulk_group(ctx, name, _bulk_left(expr, scope), expr.lo, expr.hi)
    else:
        return cuda_pipeline.wait_prior(ctx, expr, name, scope)
    return ctx.out.fresh()


def proxy_fence(ctx: Context, lo: int, hi: int) -> None:
    """The asynchronous proxy sees what this thread has written."""
    ctx.out.emit(Proxy(ctx.out.next_point(), ProxyKind.FENCE, ctx.at.span(lo, hi), ctx.at.line(lo)))


def proxy_copy(ctx: Context, refs: Iterable[Ref], width: int | None, lo: int, hi: int) -> None:
    """The asynchronous proxy reads from these addresses on, ``width`` bytes or not known how many: some at least."""
    for ref in refs:
        for buffer in sorted(ref.bases):
            offset = ref.byte if len(ref.bases) == 1 else None
            proxy = Proxy(ctx.out.next_point(), ProxyKind.COPY, ctx.at.span(lo, hi), ctx.at.line(lo), buffer)
            ctx.out.emit(replace(proxy, offset=offset, width=width or WIDEST))


def proxy_read(ctx: Context, buffers: Iterable[int], lo: int, hi: int) -> None:
    """The asynchronous proxy reads some bytes of these."""
    for buffer in sorted(buffers):
        ctx.out.emit(
            Proxy(ctx.out.next_point(), ProxyKind.READ, ctx.at.span(lo, hi), ctx.at.line(lo), buffer)
        )


def bulk_group(ctx: Context, name: str, left: int | None, lo: int, hi: int) -> None:
    """``cp.async.bulk.commit_group`` and ``cp.async.bulk.wait_group``."""
    kind = ProxyKind.COMMIT if "commit" in name else ProxyKind.WAIT
    ctx.out.emit(Proxy(ctx.out.next_point(), kind, ctx.at.span(lo, hi), ctx.at.line(lo), left=left))


def align_bulk(ctx: Context, to: Ref, name: str) -> None:
    """A function of that name gets an address: bulk and tensor copies need one that is aligned."""
    found = _BULK.match(name.rpartition("::")[2])
    sizes = [ctx.buffers[buffer].bytes for buffer in to.bases]
    if found is not None and all(
        size is None or size >= WIDEST for size in sizes
    ):  # else it is a barrier object
        require(ctx, to, TENSOR if found[1] else WIDEST)


def _stores(expr: tree.Call, name: str) -> bool:
    """``cuda::ptx::cp_async_bulk(space_global, space_shared, ...)``"""
    spaces = [each.text.rpartition("::")[2] for each in expr.arguments[:2] if isinstance(each, tree.Name)]
    return name in _PTX_COPIES and spaces == ["space_global", "space_shared"]


def _bulk_left(expr: tree.Call, scope: LocalScope) -> int | None:
    """N of ``cp_async_bulk_wait_group_read<N>()`` or ``cp_async_bulk_wait_group_read(n32_t<N>())``."""
    named: tree.Expr | None = expr.callee
    if expr.arguments:
        given = expr.arguments[0]
        named = given.callee if isinstance(given, tree.Call) else None
        if isinstance(given, tree.Cast) and len(given.type.names) == 1:
            named = given.type.names[0]
    if not isinstance(named, tree.Name) or not named.arguments or not named.arguments[-1]:
        return None
    return evaluate(named.arguments[-1][0], scope.constant_scope())


def _bulk_store(ctx: Context, expr: tree.Call, callee: str, scope: LocalScope) -> None:
    """A bulk or tensor copy out of shared memory: its bytes are read at any time from now on."""
    results = [effects.load(ctx, ctx.lower.operand(ctx, each, scope), each) for each in expr.arguments]
    refs = [each for each in results if isinstance(each, Ref)]
    size = results[-1]
    proxy_copy(ctx, refs, size.n if isinstance(size, Const) else None, expr.lo, expr.hi)
    for each in results:
        if isinstance(each, Ref):
            align_bulk(ctx, each, callee)
            in_flight(ctx, each.bases, ctx.at.line(expr.lo), each.within)
            ctx.access(each.lost().place(), AccessKind.READ, expr.lo, expr.hi)
        else:
            ctx.outside.hand_out(each)


def _first_argument(expr: tree.Call, scope: LocalScope) -> int | None:
    """N of ``wait_prior<N>(group)``."""
    assert isinstance(expr.callee, tree.Name)
    given = expr.callee.arguments[-1] if expr.callee.arguments else None
    return evaluate(given[0], scope.constant_scope()) if given else None


def wait_prior(ctx: Context, left: int | None, lo: int) -> None:
    """All groups but the ``left`` newest have landed; None: not known how many."""
    if left is None:
        mark(ctx, CopyEvent.UNKNOWN, lo)
    else:
        mark(ctx, CopyEvent.GROUPS, lo, left=left)


def waits_for(ctx: Context, expr: tree.Call, callee: tree.Member, base: Ref) -> None:
    """``object.arrive_and_wait()`` and ``object.wait(object.arrive())``: the copies bound to the object have landed.
    After ``object.wait(std::move(token))`` those have that were issued before the token was got."""
    if not base.whole or len(base.bases) != 1:
        return
    (barrier,) = base.bases
    if callee.name == "arrive":
        cuda_pipeline.arrives(ctx, expr, callee, barrier)
    if callee.name == "wait" and len(expr.arguments) == 1:
        arrival = expr.arguments[0]
        if not (
            isinstance(arrival, tree.Call)
            and not arrival.arguments
            and isinstance(arrival.callee, tree.Member)
            and arrival.callee.name == "arrive"
            and isinstance(arrival.callee.base, tree.Name)
            and isinstance(callee.base, tree.Name)
            and arrival.callee.base.text == callee.base.text
        ):
            cuda_pipeline.waits_for_token(ctx, expr, callee, barrier)
            return
    elif callee.name != "arrive_and_wait" or expr.arguments:
        return
    mark(ctx, CopyEvent.BARRIER, expr.lo, barrier)


def issue(
    ctx: Context,
    to: Ref,
    width: int | None,
    lo: int,
    hi: int,
    bound: int = OPEN,
    together: int = 0,
    *,
    divided: bool = False,
) -> None:
    """One copy of ``width`` bytes; None: not known how many, and perhaps by several threads, which are ``together``
    if that is known; ``divided``: by all threads of the block, each its own part."""
    start = to.byte if together and len(to.bases) == 1 else None
    to = to.reached(width)
    place = to.lost().place()
    if width is not None:
        place = to.viewed(width, (), same=width == to.bytes, pointer=False)
        require(ctx, to, min(width, WIDEST))
    if len(place.bases) > 1:  # what is in flight is kept for each buffer
        place = replace(place, offset=None, chosen=None)
    first = len(ctx.out.items)
    ctx.access(place, AccessKind.WRITE, lo, hi)
    for number in range(first, len(ctx.out.items)):
        access = ctx.out.items[number]
        assert isinstance(access, Access)
        ctx.out.items[number] = replace(
            access, asynchronous=True, bound=bound, start=start, size=together, divided=divided
        )
        ctx.copies.bound[access.point] = bound
    for buffer in to.bases:
        ctx.copies.into[buffer] = (
            _hull(to.within, ctx.copies.into.get(buffer, to.within)) if len(to.bases) == 1 else None
        )


def _hull(a: Bytes | None, b: Bytes | None) -> Bytes | None:
    return None if a is None or b is None else (min(a[0], b[0]), max(a[1], b[1]))


def _issue(ctx: Context, expr: tree.Call, name: str, scope: LocalScope) -> None:
    kind = cooperative_groups.group_of(ctx, expr.arguments[0], scope) if expr.arguments else None
    group = kind is not None
    given = expr.arguments[group:]
    results: list[Value | Ref] = []
    for argument in given:
        result = ctx.lower.operand(ctx, argument, scope)
        barrier = isinstance(result, Ref) and result.whole and not result.shape
        results.append(result if barrier else effects.load(ctx, result, argument))
    bound = _bound_to(ctx, name, group, given, results, scope)
    to = results[0] if results else None
    if name == "memcpy_async" and isinstance(to, Ref) and len(given) > 2:
        require(ctx, to, _promised(ctx, given[2], scope))
    shared = sum(isinstance(each, Ref) for each in results)
    if bound is None or shared != 1 + (bound >= 0) or not isinstance(to, Ref) or not to.pointer:
        mark(ctx, CopyEvent.UNKNOWN, expr.lo)
        for argument, each in zip(given, results):
            if isinstance(each, Ref):
                in_flight(ctx, each.bases, ctx.at.line(argument.lo), each.within)
                ctx.access(each.lost().place(), AccessKind.UPDATE, argument.lo, argument.hi)
        return
    size = _bytes(ctx, given[2], results[2], scope) if len(results) > 2 else None
    width = None if group else size
    if bound >= 0:
        word = results[-1]
        assert isinstance(word, Ref)
        why = f"{{}} is what a copy at line {ctx.at.line(expr.lo)} is bound to"
        ctx.buffers.pin(frozenset((bound,)), why, within=word.within)
        ctx.access(mbarriers.word_of(word), AccessKind.UPDATE, given[-1].lo, given[-1].hi)
    together, divided = (size or 0) if group else 0, kind is GroupKind.BLOCK
    issue(ctx, to, width, given[0].lo, given[0].hi, bound, together, divided=divided)
    if group and bound == OPEN:
        mark(ctx, CopyEvent.COMMIT, expr.lo)  # the last thing that cooperative_groups::memcpy_async does


def _bound_to(
    ctx: Context,
    name: str,
    group: bool,
    given: Sequence[tree.Expr],
    results: Sequence[Value | Ref],
    scope: LocalScope,
) -> int | None:
    """What the copies of a call wait for; None: not known."""
    if name == "__pipeline_memcpy_async":
        return OPEN if len(results) in (3, 4) else None
    if name != "memcpy_async":
        return None
    last = results[-1] if results else None
    if not isinstance(last, Ref):
        pipeline = cuda_pipeline.bound_to(ctx, last) if len(results) == 4 else None
        return OPEN if group and len(results) == 3 else pipeline
    # 16 bytes at a time may be a bulk copy of the asynchronous proxy on sm_90: those are not followed
    to = results[0]
    narrow = isinstance(to, Ref) and to.element is not None and to.element < WIDEST
    if (
        len(results) == 4
        and last.whole
        and len(last.bases) == 1
        and narrow
        and _is_number(ctx, given[2], scope)
    ):
        return min(last.bases)
    return None


def _bytes(ctx: Context, expr: tree.Expr, result: Value | Ref, scope: LocalScope) -> int | None:
    """A number of bytes, ``sizeof`` of a buffer too."""
    if isinstance(result, Const):
        return result.n
    asked = expr.operand if isinstance(expr, tree.SizeOf) and expr.operator == "sizeof" else None
    meaning = scope.lookup(asked.text) if isinstance(asked, tree.Name) else None
    return ctx.buffers[meaning.buffer].bytes if isinstance(meaning, BufferName) else None


def _is_number(ctx: Context, size: tree.Expr, scope: LocalScope) -> bool:
    """Is a size a plain number of bytes? Other classes of sizes promise an alignment."""
    if isinstance(size, tree.Binary):
        return _is_number(ctx, size.left, scope) and _is_number(ctx, size.right, scope)
    if isinstance(size, tree.Name):
        meaning = scope.lookup(size.text)
        if isinstance(meaning, Variable):
            return meaning.index in ctx.variables.numbers_only
        return evaluate(size, scope.constant_scope()) is not None
    return isinstance(size, tree.Number | tree.SizeOf)


def _promised(ctx: Context, size: tree.Expr, scope: LocalScope) -> int:
    """The alignment that ``cuda::aligned_size_t<16>(n)`` promises; of what is not understood the widest of a thread."""
    if _is_number(ctx, size, scope):
        return 1
    named = (
        size.callee
        if isinstance(size, tree.Call)
        else size.type.names[0]
        if isinstance(size, tree.Cast)
        else None
    )
    if isinstance(named, tree.Name) and named.arguments and named.arguments[-1]:
        return evaluate(named.arguments[-1][0], scope.constant_scope()) or WIDEST
    return WIDEST


def require(ctx: Context, to: Ref, align: int) -> None:
    """Addresses like this one are aligned to so many bytes."""
    ctx.buffers.require_align(to.bases, align)


def in_flight(ctx: Context, buffers: frozenset[int], line: int, within: Bytes | None) -> None:
    """Copies into these buffers may land at any time."""
    ctx.buffers.pin(buffers, _still(line), within=within)


def _still(line: int) -> str:
    return f"a copy into {{}} may still be in flight (line {line})"


def settle(ctx: Context) -> None:
    """Turn every wait into updates of the buffers that may be in flight there; fix those that are never waited for."""
    if not ctx.copies.into and not ctx.copies.waits:
        return
    flights = Flights(ctx.copies.bound)
    left = flights.left(ctx.out.items)
    lines: dict[int, int] = {}
    for node in _issues(ctx.out.items):
        lines.setdefault(node.buffer, node.line)
    numbers = {buffer: number for number, buffer in enumerate(sorted(ctx.copies.into), start=1)}
    free = frozenset(each for each in left if ctx.buffers.why_pinned(each) is None)
    ctx.copies.with_final_wait = final_wait.drained(ctx, free, numbers)
    for buffer in sorted(left):
        ctx.buffers.pin(
            frozenset((buffer,)), _still(lines[buffer]), seen=True, within=ctx.copies.into[buffer]
        )
    ctx.out.items[:] = settled(ctx.out.items, flights.covered, numbers, ctx.copies.into)


def _issues(nodes: Iterable[Node]) -> Iterable[Access]:
    """In program order."""
    for node in nodes:
        if isinstance(node, Access) and node.asynchronous:
            yield node
        elif isinstance(node, Branch):
            yield from _issues(node.then)
            yield from _issues(node.otherwise)
        elif isinstance(node, Loop):
            yield from _issues(node.body)
