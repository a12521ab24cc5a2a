"""Asynchronous copies into shared memory: in flight from their issue to the wait that covers them.

A copy writes its destination at any time between the two. So the issue is a write, and the wait an update of every
buffer that may be in flight there: the buffer is live from the one to the other, whatever barriers stand between. A
thread waits for its own copies only; for those of other threads a barrier has to follow, as after any write. Where a
copy may still be in flight at the end of the kernel, its buffer keeps its bytes.

``cp.async`` is waited for in groups (PTX ISA, "cp.async.wait_group"): a copy belongs to none before the next commit.
Copies bound to a ``cuda::barrier`` land before its phase ends, those of a stage of a ``cuda::pipeline`` before its
consumers have waited for the stage.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from smem_lsp.analysis.copies.flights import Flights, settled
from smem_lsp.analysis.copies.proxy_paths import ends
from smem_lsp.ir.causes import CauseKind
from smem_lsp.ir.copy_events import OPEN, CopyEvent, Family, in_stages
from smem_lsp.ir.nodes import Access, AccessKind, Seq, walk
from smem_lsp.ir.places import Row
from smem_lsp.ir.values import Bytes, Const, Value
from smem_lsp.lowering.library import (
    bulk_copies,
    bulk_flights,
    cooperative_groups,
    cuda_pipeline,
    final_wait,
    mbarriers,
)
from smem_lsp.lowering.library.bulk_copies import WIDEST, bytes_of, promised_size
from smem_lsp.lowering.library.copy_groups import mark
from smem_lsp.lowering.state import effects
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import GroupKind, LocalScope, Variable
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics.evaluate import evaluate
from smem_lsp.syntax import stubs, tree


def copying_call(ctx: Context, expr: tree.Call, name: str, scope: LocalScope) -> Value | Ref | None:
    """A call of CUDA that issues, commits or waits for asynchronous copies; None: another function."""
    if name in stubs.own().modelled("async_copy"):
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
    elif not bulk_copies.call(ctx, expr, name, scope):
        known = mbarriers.function_call(ctx, expr, name, scope)
        return known if known is not None else cuda_pipeline.wait_prior(ctx, expr, name, scope)
    return ctx.out.fresh()


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
        ctx.copies.copy_into(buffer, to.within if len(to.bases) == 1 else None)


def _issue(ctx: Context, expr: tree.Call, name: str, scope: LocalScope) -> None:
    kind = cooperative_groups.group_of(ctx, expr.arguments[0], scope) if expr.arguments else None
    group = kind is not None
    given = expr.arguments[group:]
    results = _operands(ctx, given, scope)
    bound = _bound_to(ctx, name, group, given, results, scope)
    to = results[0] if results else None
    if name == "memcpy_async" and isinstance(to, Ref) and len(given) > 2:
        require(ctx, to, _promised(ctx, given[2], scope))
    size = bytes_of(ctx, given[2], results[2], scope) if len(results) > 2 else None
    shared = sum(isinstance(each, Ref) for each in results)
    if bound is None or shared != 1 + (bound >= 0) or not isinstance(to, Ref) or not to.pointer:
        mark(ctx, CopyEvent.UNKNOWN, expr.lo)
        _lose_sight(ctx, given, results, size)
        return
    if bound >= 0:
        word = results[-1]
        assert isinstance(word, Ref)
        _arrive_later(ctx, expr, word, bound)
    width = None if group else size
    together, divided = (size or 0) if group else 0, kind is GroupKind.BLOCK
    issue(ctx, to, width, given[0].lo, given[0].hi, bound, together, divided=divided)
    if group and bound == OPEN:
        mark(ctx, CopyEvent.COMMIT, expr.lo)  # the last thing that cooperative_groups::memcpy_async does


def _operands(ctx: Context, given: Sequence[tree.Expr], scope: LocalScope) -> list[Value | Ref]:
    """The arguments of a copy: values and addresses, and whole objects that it may be bound to."""
    results: list[Value | Ref] = []
    for argument in given:
        result = ctx.lower.operand(ctx, argument, scope)
        barrier = isinstance(result, Ref) and result.whole and not result.shape
        results.append(result if barrier else effects.load(ctx, result, argument))
    return results


def _arrive_later(ctx: Context, expr: tree.Call, word: Ref, bound: int) -> None:
    """A copy is ``bound`` to the ``cuda::barrier`` that its last argument is, and counts in its ``word``."""
    last = expr.arguments[-1]
    ctx.buffers.pin(frozenset((bound,)), CauseKind.BOUND_TO_COPY, ctx.at.line(expr.lo), within=word.within)
    ctx.access(mbarriers.word_of(word), AccessKind.UPDATE, last.lo, last.hi)


def _lose_sight(
    ctx: Context, given: Sequence[tree.Expr], results: Sequence[Value | Ref], size: int | None
) -> None:
    """A copy of which it is not known what it is waited for with: it may land in all that it gets at any time."""
    for argument, each in zip(given, results):
        if not isinstance(each, Ref):
            continue
        if each is results[0] and each.pointer and size is not None:
            bulk_copies.fill(ctx, each, Const(size), argument.lo, argument.hi)
        else:
            in_flight(ctx, each.bases, ctx.at.line(argument.lo), each.within)
            ctx.access(each.lost().place(), AccessKind.UPDATE, argument.lo, argument.hi)


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
    promised = promised_size(size)
    if promised is not None and promised[0].arguments and promised[0].arguments[-1]:
        return evaluate(promised[0].arguments[-1][0], scope.constant_scope()) or WIDEST
    return WIDEST


def require(ctx: Context, to: Ref, align: int) -> None:
    """Addresses like this one are aligned to so many bytes."""
    ctx.buffers.require_align(to.bases, align)


def in_flight(ctx: Context, buffers: frozenset[int], line: Row, within: Bytes | None) -> None:
    """Copies into these buffers may land at any time."""
    ctx.buffers.pin(buffers, CauseKind.COPY_IN_FLIGHT, line, within=within)


def settle(ctx: Context) -> None:
    """Iteration every wait into updates of the buffers that may be in flight there; fix those that are never waited
    for."""
    if not ctx.copies.into and not ctx.copies.waits:
        return
    numbers = {buffer: number for number, buffer in enumerate(sorted(ctx.copies.into), start=1)}
    bulk_flights.settle(ctx, numbers)
    issues = [
        each
        for each in walk(Seq(tuple(ctx.out.items)))
        if isinstance(each, Access) and each.asynchronous and each.point in ctx.copies.bound
    ]
    left, covered = _landings(ctx, issues)
    lines: dict[int, Row] = {}
    for node in issues:
        lines.setdefault(node.buffer, node.line)
    free = frozenset(each for each in left if ctx.buffers.why_pinned(each) is None)
    bound = {each.point: each.bound for each in issues if each.buffer in left}
    ctx.copies.with_final_wait = final_wait.drained(ctx, free, bound, covered, numbers)
    for buffer in sorted(left):
        within = ctx.copies.into[buffer]
        ctx.buffers.pin(
            frozenset((buffer,)), CauseKind.COPY_IN_FLIGHT, lines[buffer], seen=True, within=within
        )
    ctx.out.items[:] = settled(ctx.out.items, covered, numbers, ctx.copies.into)


def _landings(ctx: Context, issues: Collection[Access]) -> tuple[frozenset[int], dict[int, frozenset[int]]]:
    """(buffers that copies may be in flight into at the end, wait -> buffers that copies land in there), by all that is
    known of paths (``proxy_paths``) where no simple account of them is enough."""
    flights = Flights({point: by for point, by in ctx.copies.bound.items() if not in_stages(by)})
    doubtful = flights.left(ctx.out.items)
    objects = doubtful & {each.buffer for each in issues if each.bound >= 0}
    groups = doubtful - objects
    followed = {
        each.point: each
        for each in issues
        if in_stages(each.bound) or (each.bound == OPEN and each.buffer in groups)
    }
    kinds = {point: Family.COPIES if each.bound == OPEN else each.bound for point, each in followed.items()}
    found = ends(ctx.out.items, kinds)
    left = objects | {followed[issue].buffer for issue in found.left}
    covered = dict(flights.covered)
    for wait, over in found.over.items():
        landing = (followed[issue] for issue in over)
        buffers = {each.buffer for each in landing if each.bound != OPEN or each.buffer not in left}
        covered[wait] = covered.get(wait, frozenset()) | buffers
    return left, covered
