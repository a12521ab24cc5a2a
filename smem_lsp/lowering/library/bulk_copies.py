"""The asynchronous proxy: bulk and tensor copies into and out of shared memory, its fences, and the groups of copies.

A bulk copy touches so many bytes from an address on; how many a tensor copy does is said by a tensor map that the host
makes: where that is not in sight only where it begins is known. Until its thread has waited for it (``bulk_flights``)
its bytes are in use; nothing is told of its order with the accesses of threads but what SMEM209 says (PTX ISA, "Data
Movement and Conversion Instructions: Bulk copy", "Async proxy").
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from smem_lsp.ir.causes import CauseKind
from smem_lsp.ir.copy_events import Family, ProxyEvent, WordPlace
from smem_lsp.ir.nodes import AccessKind, Proxy, ProxyKind
from smem_lsp.ir.values import Const, Value
from smem_lsp.lowering.library import bulk_flights, mbarriers
from smem_lsp.lowering.state import effects
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import BufferName, LocalScope
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics.evaluate import evaluate
from smem_lsp.source.regex import regex
from smem_lsp.syntax import tree

WIDEST = 16  # bytes that one thread copies at a time, and what they are aligned to; bulk copies, too
TENSOR = 128  # what tensor copies are aligned to (CUDA programming guide, "Tensor Memory Accelerator")

# <cuda/barrier>, <cuda/ptx>, and what CUTLASS calls them
_FENCES = frozenset(
    ("fence_proxy_async_shared_cta", "fence_proxy_async", "tma_store_fence", "fence_view_async_shared")
)
_GROUPS = frozenset(
    ("cp_async_bulk_commit_group", "cp_async_bulk_wait_group", "cp_async_bulk_wait_group_read")
)
_PTX_COPIES = frozenset(("cp_async_bulk", "cp_async_bulk_tensor"))
_BULK = regex(r"cp_(?:reduce_)?async_bulk(?!\w*_group)(_tensor)?")
_STORES = regex(r"cp_async_bulk(?:_tensor_\dd)?_shared_to_global")
_LOADS = regex(r"cp_async_bulk(?:_tensor_\dd)?_global_to_shared|memcpy_async_tx")


def call(ctx: Context, expr: tree.Call, name: str, scope: LocalScope) -> bool:
    """A call of CUDA that the asynchronous proxy has to do with; False: another function."""
    if name in _FENCES:
        fence(ctx, expr.lo, expr.hi)
    elif name in _GROUPS and len(expr.arguments) <= 1:
        group(ctx, name, _left(expr, scope), expr.lo, expr.hi)
    elif _STORES.fullmatch(name):
        _store(ctx, expr, name, expr.arguments, scope)
    elif _LOADS.fullmatch(name) and len(expr.arguments) >= 3:
        _load(ctx, expr, name, expr.arguments, scope)
    elif name in _PTX_COPIES and _spaces(expr) == ["space_global", "space_shared"]:
        _store(ctx, expr, name, expr.arguments[2:], scope)
    elif name in _PTX_COPIES and _spaces(expr)[1:] == ["space_global"] and len(expr.arguments) >= 5:
        _load(ctx, expr, name, expr.arguments[2:], scope)
    else:
        return False
    return True


def _spaces(expr: tree.Call) -> list[str]:
    """``cuda::ptx::cp_async_bulk(space_global, space_shared, ...)``"""
    return [each.text.rpartition("::")[2] for each in expr.arguments[:2] if isinstance(each, tree.Name)]


def fence(ctx: Context, lo: int, hi: int) -> None:
    """The asynchronous proxy sees what this thread has written."""
    ctx.out.emit(Proxy(ctx.out.next_point(), ProxyKind.FENCE, ctx.at.span(lo, hi), ctx.at.line(lo)))


def group(ctx: Context, name: str, left: int | None, lo: int, hi: int) -> None:
    """``cp.async.bulk.commit_group`` and ``cp.async.bulk.wait_group``."""
    kind = ProxyKind.COMMIT if "commit" in name else ProxyKind.WAIT
    ctx.out.emit(Proxy(ctx.out.next_point(), kind, ctx.at.span(lo, hi), ctx.at.line(lo), left=left))
    note_group(ctx, name, left, lo, Family.BULK)


def note_group(ctx: Context, name: str, left: int | None, lo: int, family: Family) -> None:
    """A thread makes a group, or waits till all but ``left`` are done; None: not known how many."""
    if "commit" in name:
        bulk_flights.note(ctx, ProxyEvent.COMMIT, lo, family)
    elif left is not None:
        bulk_flights.note(ctx, ProxyEvent.GROUPS, lo, family, left=left)


def read(ctx: Context, buffers: Iterable[int], lo: int, hi: int) -> None:
    """The asynchronous proxy reads some bytes of these."""
    for buffer in sorted(buffers):
        ctx.out.emit(
            Proxy(ctx.out.next_point(), ProxyKind.READ, ctx.at.span(lo, hi), ctx.at.line(lo), buffer)
        )


def fill(
    ctx: Context, to: Ref, length: Value | None, lo: int, hi: int, word: WordPlace | None = None
) -> None:
    """A copy into shared memory: from now on ``length`` bytes are written at any time; None: not known how many.
    ``word``: of the ``mbarrier`` whose phase it counts for."""
    written = length or ctx.out.fresh()
    ctx.keep(to, AccessKind.WRITE, written, lo, hi, CauseKind.COPY_IN_FLIGHT, over=word)


def drain(ctx: Context, out_of: Ref, length: Value | None, lo: int, hi: int) -> None:
    """A copy out of shared memory: from now on ``length`` bytes are read at any time; None: not known how many."""
    width = length.n if isinstance(length, Const) else WIDEST  # so many at least
    for buffer in sorted(out_of.bases):
        offset = out_of.byte if len(out_of.bases) == 1 else None
        proxy = Proxy(ctx.out.next_point(), ProxyKind.COPY, ctx.at.span(lo, hi), ctx.at.line(lo), buffer)
        ctx.out.emit(replace(proxy, offset=offset, width=width))
    read_from = length or ctx.out.fresh()
    ctx.keep(out_of, AccessKind.READ, read_from, lo, hi, CauseKind.BULK_COPY_READS, over=Family.BULK)


def multiply(ctx: Context, descriptor: Ref, name: str, lo: int, hi: int) -> None:
    """A matrix instruction reads the tile that a descriptor names, not known how far, at any time from now on."""
    ctx.keep(
        descriptor,
        AccessKind.READ,
        ctx.out.fresh(),
        lo,
        hi,
        CauseKind.MATRICES_READ,
        name,
        over=Family.MATRICES,
    )


def align(ctx: Context, to: Ref, name: str) -> None:
    """A function of that name gets an address: bulk and tensor copies need one that is aligned."""
    found = _BULK.match(name.rpartition("::")[2])
    sizes = [ctx.buffers[buffer].bytes for buffer in to.bases]
    if found is not None and all(
        size is None or size >= WIDEST for size in sizes
    ):  # else it is a barrier object
        ctx.buffers.require_align(to.bases, TENSOR if found[1] else WIDEST)


def bytes_of(ctx: Context, expr: tree.Expr, result: Value | Ref, scope: LocalScope) -> int | None:
    """A number of bytes: ``sizeof`` of a buffer, or ``cuda::aligned_size_t<16>(n)``, too."""
    if isinstance(result, Const):
        return result.n
    promised = promised_size(expr)
    if promised is not None and promised[0].text.rpartition("::")[2] == "aligned_size_t":
        return evaluate(promised[1], scope.constant_scope())
    asked = expr.operand if isinstance(expr, tree.SizeOf) and expr.operator == "sizeof" else None
    meaning = scope.lookup(asked.text) if isinstance(asked, tree.Name) else None
    return ctx.buffers[meaning.buffer].bytes if isinstance(meaning, BufferName) else None


def _length(ctx: Context, expr: tree.Expr, result: Value | Ref, scope: LocalScope) -> Value | None:
    """A number of bytes, whatever it is at run time; None: not followed."""
    known = bytes_of(ctx, expr, result, scope)
    if known is not None:
        return Const(known)
    promised = promised_size(expr)
    return None if isinstance(result, Ref) or promised is not None else result


def _box(tensor_map: Value | Ref) -> Value | None:
    """The bytes that a copy moves that a tensor map says all of (``tensor_maps``)."""
    return None if isinstance(tensor_map, Ref) else tensor_map


def promised_size(size: tree.Expr) -> tuple[tree.Name, tree.Expr] | None:
    """Class and number of ``cuda::aligned_size_t<16>(n)``; None: of no class."""
    if isinstance(size, tree.Call) and isinstance(size.callee, tree.Name) and len(size.arguments) == 1:
        return size.callee, size.arguments[0]
    if isinstance(size, tree.Cast) and size.type.names:
        return size.type.names[0], size.operand
    return None


def _left(expr: tree.Call, scope: LocalScope) -> int | None:
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


def _store(ctx: Context, expr: tree.Call, callee: str, given: Sequence[tree.Expr], scope: LocalScope) -> None:
    """A bulk or tensor copy out of shared memory."""
    results = [effects.load(ctx, ctx.lower.operand(ctx, each, scope), each) for each in given]
    length = _box(results[0]) if "tensor" in callee else _length(ctx, given[-1], results[-1], scope)
    for each in results:
        if isinstance(each, Ref):
            align(ctx, each, callee)
            drain(ctx, each, length, expr.lo, expr.hi)
        else:
            ctx.outside.signal(each)


def _load(ctx: Context, expr: tree.Call, callee: str, given: Sequence[tree.Expr], scope: LocalScope) -> None:
    """A bulk or tensor copy into shared memory: ``(to, from, bytes, barrier)``, ``(to, map, coordinates..., barrier)``,
    after which a mask of blocks may stand."""
    results: list[Value | Ref] = []
    for each in given:
        result = ctx.lower.operand(ctx, each, scope)
        barrier = isinstance(result, Ref) and result.whole and not result.shape
        results.append(result if barrier else effects.load(ctx, result, each))
    length = _box(results[1]) if "tensor" in callee else _length(ctx, given[2], results[2], scope)
    for number, found in enumerate(results):
        if not isinstance(found, Ref):
            ctx.outside.signal(found)
        elif number == 0:
            align(ctx, found, "cp_async_bulk" if callee == "memcpy_async_tx" else callee)
            words = [each for each in results[1:] if isinstance(each, Ref)]
            word = mbarriers.place_of(words[0]) if len(words) == 1 else None
            fill(ctx, found, length, expr.lo, expr.hi, word)
        else:
            mbarriers.update(ctx, found, expr.lo, expr.hi)
