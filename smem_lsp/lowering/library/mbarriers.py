"""Words of barrier objects in shared memory: ``cuda::barrier`` of a block, and ``mbarrier`` in inline assembler.

They are bytes like others: the thread that makes such an object writes it, those that come to it update it, and a
barrier of the block has to stand in between (PTX ISA, "mbarrier"). They never share their bytes.
"""

from __future__ import annotations

from smem_lsp.ir.nodes import AccessKind, BarrierKind
from smem_lsp.ir.values import Value
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import LocalScope
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics.types import Scalar
from smem_lsp.syntax import tree

_BYTES = 8
_MAKE = ("init", "inval")  # what writes the word; all else updates it at once
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
    for argument in expr.arguments[1:]:
        ctx.lower.value(ctx, argument, scope)
    ctx.access(word_of(to.place()), AccessKind.WRITE, expr.lo, expr.hi)
    ctx.buffers.pin(
        to.bases, f"{{}} is a barrier that is made at line {ctx.at.line(expr.lo)}", within=to.within
    )
    return ctx.out.fresh()


def instruction(ctx: Context, words: list[str], address: Ref | None, refs: list[Ref], size: int) -> None:
    """``mbarrier.init`` and the like. ``refs``: all operands that are addresses."""
    name = words[1] if len(words) > 1 else ""
    kind = AccessKind.WRITE if name in _MAKE else AccessKind.UPDATE
    for ref in refs:
        of_word = address is not None and ref.bases == address.bases
        _touch(ctx, address if of_word and address is not None else ref.moved(None), kind, 0, size)
    if name not in _GOES_ON:
        ctx.out.barrier(BarrierKind.OTHER, 0, size, "")


def update(ctx: Context, address: Ref, lo: int, hi: int) -> None:
    """A copy is bound to the word there."""
    _touch(ctx, address, AccessKind.UPDATE, lo, hi)


def _touch(ctx: Context, address: Ref, kind: AccessKind, lo: int, hi: int) -> None:
    ctx.keep(address, kind, _BYTES, lo, hi, "{} is used by mbarrier at line {line}")


def _is_barrier(ref: Ref) -> bool:
    return isinstance(ref.kind, Scalar) and ref.kind.name.startswith("cuda::barrier<")
