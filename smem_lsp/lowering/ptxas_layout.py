"""What ptxas makes of the shared arrays of a file: which it keeps, in which order it lays them out, how it rounds.

The rules were measured with ptxas 13.0 and are the same for all targets. A kernel's arrays come in the order of their
declarations, then those of templates and of functions that several kernels reach, then those of functions that are not
inlined; nothing is sorted and no tail is padded, but once the file uses an ``extern __shared__`` array every total is
rounded up. Before that the optimiser drops, shrinks and splits arrays: wherever it might, a total is not exact.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence

from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.ir.nodes import Access, AddressSpace, Barrier, Buffer, Loop, Seq, walk
from smem_lsp.ir.places import At
from smem_lsp.ir.values import Const
from smem_lsp.lowering.state.context import Context
from smem_lsp.source import checkpoint
from smem_lsp.source.queries import question
from smem_lsp.source.record import dataclass
from smem_lsp.syntax.parse import Body, Function
from smem_lsp.syntax.questions import of_body

# ---- declarations of functions that are not lowered ------------------------------------------------------------------


# ---- the file --------------------------------------------------------------------------------------------------------


# ---- one kernel ------------------------------------------------------------------------------------------------------


def group(buffer: Buffer, kernel: Function, callers: Mapping[str, int], helpers: Iterable[Function]) -> int:
    """Where ptxas puts an array: of one group they come as they are declared. ``callers``: how many kernels reach a
    function."""
    owner = next((h for h in helpers if At.of(h.span).covers(buffer.declared)), None)
    if owner is None or At.of(kernel.span).covers(buffer.declared):
        return 0
    if "__noinline__" in owner.head.texts or "noinline" in owner.head.texts:
        return 2
    return int(owner.island.template or callers.get(owner.name, 0) > 1)


def order_is_certain(buffers: Sequence[Buffer]) -> bool:
    """Is the total the same in whatever order the arrays of several functions come? It is when none needs padding."""
    static = [b for b in buffers if b.space is AddressSpace.STATIC]
    if len({b.function for b in static}) < 2:
        return True
    align = max((b.align or 1 for b in static), default=1)
    return all(b.bytes is not None and b.bytes % align == 0 for b in static)


def unexact(ctx: Context, items: Seq, helper_arrays: Sequence[Buffer], *, understood: bool) -> Cause | None:
    """Why the bytes that ptxas reports may differ from the declared ones. ``understood``: all of the text is."""
    if helper_arrays:
        return Cause(CauseKind.OWN_ARRAYS, names=(helper_arrays[0].function,))
    if not understood:
        return None
    if not order_is_certain(ctx.buffers.declared):
        return Cause(CauseKind.ORDER)
    uses = _uses(items, len(ctx.buffers))
    for buffer in ctx.buffers:
        if buffer.space is AddressSpace.STATIC:
            pinned = ctx.buffers.why_pinned(buffer.index) is not None
            why = _changed(ctx, buffer, uses[buffer.index], pinned=pinned)
            if why is not None:
                return Cause(why, names=(buffer.name,))
    return None


@dataclass(slots=True)
class _Uses:
    """How a buffer is used. ``separated``: a barrier stands between a write and a read."""

    reads: list[Access]
    writes: list[Access]
    separated: bool = False


def _uses(items: Seq, count: int) -> list[_Uses]:
    uses = [_Uses([], []) for _ in range(count)]
    barriers: list[int] = []
    loops: list[tuple[int, int]] = []
    for node in walk(items):
        if isinstance(node, Barrier):
            barriers.append(node.point)
        elif isinstance(node, Loop):
            loops.append((node.point, node.end_point))
        elif isinstance(node, Access):
            each = uses[node.buffer]
            if node.kind.reads:
                each.reads.append(node)
            if node.kind.writes:
                each.writes.append(node)
    around = [(start, end) for start, end in loops if _any_between(barriers, start, end)]
    for each in uses:
        checkpoint()
        reads = sorted(access.point for access in each.reads)
        writes = sorted(access.point for access in each.writes)
        if reads and writes:
            each.separated = _any_between(barriers, writes[0], reads[-1]) or any(
                _any_between(writes, start, end) and _any_between(reads, start, end) for start, end in around
            )
    return uses


def _any_between(points: Sequence[int], start: int, end: int) -> bool:
    """Does one of the rising ``points`` lie strictly between the two?"""
    at = bisect_right(points, start)
    return at < len(points) and points[at] < end


def _changed(ctx: Context, buffer: Buffer, uses: _Uses, *, pinned: bool) -> CauseKind | None:
    """How the optimiser may change an array that the kernel reads; None when it certainly leaves it alone."""
    if buffer.collective is False:
        return CauseKind.COLLECTIVE_UNUSED
    if pinned:
        return None
    if not uses.reads:  # the optimiser does not drop what may be the root of something
        return CauseKind.POINTERS_KEPT if uses.writes and buffer.holds_pointers else None
    if buffer.collective:
        return None
    if not uses.writes:
        return CauseKind.NEVER_WRITTEN
    if not uses.separated and any(not access.kind.writes for access in uses.reads):
        return CauseKind.UNSEPARATED
    why = _taken_apart(ctx, buffer, [*uses.reads, *uses.writes])
    if why is None and _unused_result(ctx, buffer):
        return CauseKind.UNUSED_RESULT
    return why


def _taken_apart(ctx: Context, buffer: Buffer, accesses: Sequence[Access]) -> CauseKind | None:
    """How the optimiser may take an array apart or do without it, by the places of it that are used; None when it
    certainly keeps it as a whole."""
    if buffer.dims and all(dim == 1 for dim in buffer.dims):
        return CauseKind.ONE_ELEMENT
    if not buffer.dims and not buffer.record:
        if _one_constant(ctx, buffer):
            return CauseKind.ONE_VALUE
    elif all(_is_constant(access) for access in accesses):
        if buffer.index not in ctx.buffers.exchanged and not _reaches_inside(ctx, buffer.name):
            return CauseKind.CONSTANT_PLACES
    indices = {access.index for access in accesses}
    return CauseKind.OWN_ELEMENT if buffer.dims and len(indices) == 1 and None not in indices else None


def _is_constant(access: Access) -> bool:
    """Does an access always touch the same place? A member of a class counts: which one is not followed."""
    if access.index is not None:
        return all(isinstance(value, Const) for value in access.index)
    return access.offset is None or isinstance(access.offset, Const)


def _reaches_inside(ctx: Context, name: str, depth: int = 0) -> bool:
    """Is an array inside ``name``, or behind a reference or pointer that starts as a part of it, indexed by something
    that is no constant?"""
    kinds, texts = ctx.at.kernel.body.tokens.kinds, ctx.at.kernel.body.tokens.texts
    partner = ctx.at.kernel.body.ahead.partner
    bound: set[str] = set()
    for i in _places(ctx, name):
        checkpoint()
        if kinds[i - 1 : i] == ["DOT"]:
            continue
        at = i + 1
        while at < len(kinds):
            if kinds[at] == "LB" and partner[at] > at:
                if any(_varies(ctx, at + 1, partner[at])):
                    return True
                at = partner[at] + 1
            elif kinds[at] == "DOT" and kinds[at + 1 : at + 2] == ["NAME"]:
                at += 2
            else:
                break
        start = i - 1 if kinds[i - 1 : i] == ["AMP"] else i
        if kinds[start - 2 : start] == ["NAME", "EQ"] and texts[start - 2] != name:
            bound.add(texts[start - 2])
    return depth < 3 and any(_reaches_inside(ctx, each, depth + 1) for each in bound)


def _places(ctx: Context, name: str) -> Sequence[int]:
    """Where a name stands in the kernel's body: indices of tokens."""
    return _all_places(ctx.at.kernel.body).get(name, ())


@question(of_body)
def _all_places(body: Body) -> Mapping[str, Sequence[int]]:
    places: dict[str, list[int]] = {}
    for i, (kind, text) in enumerate(zip(body.tokens.kinds, body.tokens.texts)):
        if kind == "NAME":
            places.setdefault(text, []).append(i)
    return places


def _varies(ctx: Context, lo: int, hi: int) -> Iterator[bool]:
    tokens = ctx.at.kernel.body.tokens
    for kind, text in zip(tokens.kinds[lo:hi], tokens.texts[lo:hi]):
        yield kind == "NAME" and ctx.around.constants.lookup(text) is None


def _one_constant(ctx: Context, buffer: Buffer) -> bool:
    """May all assignments to a single variable store one and the same constant?"""
    kinds, texts = ctx.at.kernel.body.tokens.kinds, ctx.at.kernel.body.tokens.texts
    stored: set[tuple[str, ...]] = set()
    for i in _places(ctx, buffer.name):
        checkpoint()
        if kinds[i - 1 : i] == ["DOT"]:
            continue
        at = i + 1
        while kinds[at : at + 1] in (["DOT"], ["LB"]):
            at = at + 2 if kinds[at] == "DOT" else max(ctx.at.kernel.body.ahead.partner[at], at) + 1
        before, after = kinds[i - 1] if i else "", kinds[at] if at < len(kinds) else ""
        if after in ("ASSIGN", "STEP") or before in ("AMP", "STEP") or (before == "COMMA" and after == "RP"):
            return False
        if after != "EQ":
            continue
        end = at + 1
        while end < len(kinds) and kinds[end] not in ("SEMI", "COMMA"):
            end += 1
        if any(
            kind in ("LP", "LB", "DOT") or (kind == "NAME" and ctx.around.constants.lookup(t) is None)
            for kind, t in zip(kinds[at + 1 : end], texts[at + 1 : end])
        ):
            return False
        stored.add(tuple(texts[at + 1 : end]))
    return len(stored) <= 1


def _unused_result(ctx: Context, buffer: Buffer) -> bool:
    """Is a local variable initialised from the buffer and never named again?"""
    mentions: dict[str, int] = {}
    kinds, texts = ctx.at.kernel.body.tokens.kinds, ctx.at.kernel.body.tokens.texts
    for i in _places(ctx, buffer.name):
        checkpoint()
        at = i
        while at > 0 and kinds[at] not in ("EQ", "SEMI", "LC", "RC", "COMMA"):
            at -= 1
        if kinds[at] != "EQ" or kinds[at - 1] != "NAME" or texts[at - 1] not in ctx.local_names:
            continue
        name = texts[at - 1]
        if name not in mentions:
            places = [x for x in _places(ctx, name) if kinds[x - 1 : x] != ["DOT"]]
            mentions[name] = len(places) - sum(texts[x - 3 : x] == ["(", "void", ")"] for x in places)
        if mentions[name] <= 1:
            return True
    return False
