"""Words of barrier objects in shared memory: ``cuda::barrier`` of a block, and ``mbarrier`` in inline assembler.

They are bytes like others: the thread that makes such an object writes it, those that come to it update it, and a
barrier of the block has to stand in between (PTX ISA, "mbarrier"). They never share their bytes.
"""

from __future__ import annotations

from collections.abc import Iterable

from smem_lsp.ir.causes import CauseKind
from smem_lsp.ir.copy_events import ProxyEvent, WordPlace
from smem_lsp.ir.nodes import AccessKind, BarrierFamily, BarrierKind
from smem_lsp.ir.values import Const, Value
from smem_lsp.lowering.library import barriers, bulk_flights
from smem_lsp.lowering.state.context import Arrival, Context
from smem_lsp.lowering.state.local_scope import LocalScope
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics.types import Scalar
from smem_lsp.source.queries import question
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function
from smem_lsp.syntax.questions import of_function

_BYTES = 8
_MAKE = ("init", "inval")  # what writes the word; all else updates it at once
_FUNCTIONS = frozenset(
    "mbarrier_init mbarrier_arrive mbarrier_arrive_expect_tx mbarrier_expect_tx mbarrier_try_wait mbarrier_test_wait"
    " mbarrier_try_wait_parity mbarrier_test_wait_parity barrier_arrive_tx barrier_expect_tx"
    " barrier_native_handle".split()
)
_GOES_ON = (*_MAKE, "arrive", "arrive_drop", "expect_tx", "complete_tx", "pending_count")  # waits for nobody


def word_of(place: Ref) -> Ref:
    """The word of an object of a class: where it is known to be one, else some of its bytes."""
    known = not place.pointer and not place.shape and place.offset is not None
    return place if known and _is_barrier(place) else place.part()


def init_call(ctx: Context, expr: tree.Call, name: str, scope: LocalScope) -> Value | None:
    """``init(&bar, n)`` of a ``cuda::barrier``; None: another function."""
    if name != "init" or len(expr.arguments) not in (2, 3) or name in ctx.helpers:
        return None
    if not isinstance(expr.arguments[0], tree.Unary | tree.Name):
        return None
    with ctx.out.collect() as items:
        to = ctx.lower.operand(ctx, expr.arguments[0], scope)
    if not isinstance(to, Ref) or not to.pointer or not _is_barrier(to):
        return None
    for item in items:
        ctx.out.emit(item)
    count, *_ = [ctx.lower.value(ctx, argument, scope) for argument in expr.arguments[1:]]
    ctx.access(word_of(to.place()), AccessKind.WRITE, expr.lo, expr.hi)
    line = ctx.at.line(expr.lo)
    ctx.buffers.pin(to.bases, CauseKind.BARRIER_MADE, line, seen=True, within=to.within)
    word = place_of(to)
    if word is not None and ctx.barrier_counts.setdefault(word, count) != count:
        ctx.limits.note(CauseKind.BARRIER_AGAIN, line)
    return ctx.out.fresh()


def function_call(ctx: Context, expr: tree.Call, name: str, scope: LocalScope) -> Value | Ref | None:
    """A function of ``cuda::ptx`` or ``cuda::device`` that works on such an object; None: another function."""
    if name not in _FUNCTIONS:
        return None
    with ctx.out.collect() as items:
        given = [ctx.lower.operand(ctx, each, scope) for each in expr.arguments]
    words = [each for each in given if isinstance(each, Ref)]
    if len(words) != 1:
        return None
    for item in items:
        ctx.out.emit(item)
    if name == "barrier_native_handle":
        return words[0] if words[0].pointer else words[0].address()
    word, behind = place_of(words[0]), given[given.index(words[0]) + 1 :]
    _touch(ctx, words[0], AccessKind.WRITE if name.endswith("init") else AccessKind.UPDATE, expr.lo, expr.hi)
    answer = ctx.out.fresh()
    if "wait" in name:
        parity = behind[0] if name.endswith("parity") and behind and not isinstance(behind[0], Ref) else None
        if word is None or not behind or (name.endswith("parity") and parity is None):
            lose(ctx, words, expr.lo)
        else:
            bulk_flights.note(ctx, ProxyEvent.ASK, expr.lo, word=word, parity=parity, answer=answer)
        ctx.out.barrier(BarrierKind.OTHER, expr.lo, expr.hi, "")
    elif "arrive" in name:
        _arrive(ctx, words[0], expr.lo, expects=name.endswith("tx"))
    elif name.endswith("expect_tx"):
        _note(ctx, ProxyEvent.EXPECT, words[0], expr.lo)
    return answer


def method(ctx: Context, base: Ref, expr: tree.Call, callee: tree.Member, scope: LocalScope) -> Value | None:
    """A method of a ``cuda::barrier`` that waits with a token or arrives; None: something else."""
    if not base.whole or len(base.bases) != 1 or not _is_barrier(base) or callee.operator != ".":
        return None
    name, given = callee.name, [_token_of(each) for each in expr.arguments]
    if (name, len(given)) not in (("arrive", 0), ("arrive", 1), ("arrive_and_wait", 0), ("wait", 1)):
        return None
    if name == "wait" and not isinstance(given[0], tree.Name | tree.Call):
        return None
    for each in given:
        ctx.lower.value(ctx, each, scope)
    lo, hi = callee.base.lo, callee.base.hi
    met = not given and name != "wait"
    if name == "wait" and (arrival := ctx.arrivals.pop(place_of(base) or (-1, None), None)) is not None:
        met = not _copies(ctx) and barriers.is_at_once(ctx, arrival, copies=False)
    ctx.access(word_of(base), AccessKind.UPDATE, lo, hi)
    ctx.buffers.pin(base.bases, CauseKind.BARRIER_USED, ctx.at.line(expr.lo), seen=True)
    if name.startswith("arrive"):
        _arrive(ctx, base, expr.lo, expects=False)
    if name.endswith("wait"):
        bulk_flights.note(ctx, ProxyEvent.PHASE, expr.lo, word=place_of(base))
    if not (met and _meet(ctx, base, expr, arrives=name == "arrive")):
        ctx.may_synchronise()
    return ctx.out.fresh()


def _meet(ctx: Context, base: Ref, expr: tree.Call, *, arrives: bool) -> bool:
    """Threads come to an object as to a numbered barrier for as many as it counts, and wait unless they only arrive;
    False: it is not known how many, or copies are waited for, too."""
    word = place_of(base)
    count = None if word is None else ctx.barrier_counts.get(word)
    if word is None or count is None or not isinstance(word[1], Const) or _copies(ctx):
        return False
    number, items = Const(word[0] << 32 | word[1].n), ctx.out.items
    if arrives:
        ctx.arrivals[word] = Arrival(items, len(items), ctx.out.point + 1)
    ctx.out.named_barrier(expr.lo, expr.hi, number, count, arrives=arrives, family=BarrierFamily.OBJECT)
    return True


def _copies(ctx: Context) -> bool:
    """May copies be bound to objects?"""
    return bool(ctx.copies.into) or _names_copies(ctx.at.kernel)


@question(of_function)
def _names_copies(kernel: Function) -> bool:
    return any("copy_async" in word for word in kernel.definition.body_words)


def _token_of(expr: tree.Expr) -> tree.Expr:
    """``x`` of ``std::move(x)``."""
    moved = isinstance(expr, tree.Call) and isinstance(expr.callee, tree.Name) and len(expr.arguments) == 1
    if moved and isinstance(expr, tree.Call) and isinstance(expr.callee, tree.Name):
        return expr.arguments[0] if expr.callee.text.rpartition("::")[2] == "move" else expr
    return expr


def _arrive(ctx: Context, address: Ref, lo: int, *, expects: bool) -> None:
    """A thread arrives; ``expects``: the phase is not over before bytes of copies have landed."""
    if expects:
        _note(ctx, ProxyEvent.EXPECT, address, lo)
    _note(ctx, ProxyEvent.ARRIVE, address, lo)


def _note(ctx: Context, event: ProxyEvent, address: Ref, lo: int) -> None:
    word = place_of(address)
    if word is None:
        lose(ctx, [address], lo)
    else:
        bulk_flights.note(ctx, event, lo, word=word)


def instruction(ctx: Context, words: list[str], address: Ref | None, refs: list[Ref], size: int) -> None:
    """``mbarrier.init`` and the like. ``refs``: all operands that are addresses."""
    name = words[1] if len(words) > 1 else ""
    kind = AccessKind.WRITE if name in _MAKE else AccessKind.UPDATE
    for ref in refs:
        of_word = address is not None and ref.bases == address.bases
        _touch(ctx, address if of_word and address is not None else ref.moved(None), kind, 0, size)
    if name == "inval" or name.startswith("complete"):
        lose(ctx, refs, 0)
    elif name in ("arrive", "arrive_drop"):
        if address is None or len(refs) != 1:
            lose(ctx, refs, 0)
        else:
            _arrive(ctx, address, 0, expects="expect_tx" in words)
    elif name == "expect_tx" and address is not None and len(refs) == 1:
        _note(ctx, ProxyEvent.EXPECT, address, 0)
    if name not in _GOES_ON:
        ctx.out.barrier(BarrierKind.OTHER, 0, size, "")


def place_of(address: Ref) -> WordPlace | None:
    """The word at an address; None: one of several buffers."""
    return (min(address.bases), address.byte) if len(address.bases) == 1 else None


def lose(ctx: Context, words: Iterable[Ref], lo: int) -> None:
    """Anything may be done to these words."""
    for buffer in sorted(frozenset[int]().union(*(each.bases for each in words))):
        bulk_flights.note(ctx, ProxyEvent.LOST, lo, word=(buffer, None))


def update(ctx: Context, address: Ref, lo: int, hi: int) -> None:
    """A copy is bound to the word there."""
    _touch(ctx, address, AccessKind.UPDATE, lo, hi)


def _touch(ctx: Context, address: Ref, kind: AccessKind, lo: int, hi: int) -> None:
    ctx.keep(address, kind, _BYTES, lo, hi, CauseKind.MBARRIER)


def _is_barrier(ref: Ref) -> bool:
    return isinstance(ref.kind, Scalar) and ref.kind.name.startswith("cuda::barrier<")
