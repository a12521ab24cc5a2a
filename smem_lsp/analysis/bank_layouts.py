"""What another layout of a buffer does to the bank conflicts of all its accesses: padded rows, or columns swizzled by
exclusive or."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from smem_lsp.analysis.lane_paths import Located
from smem_lsp.analysis.lanes import Asked, Warps
from smem_lsp.analysis.terms import Const, Term
from smem_lsp.analysis.wavefronts import BANKS, LANES, WORD
from smem_lsp.ir.model import Buffer, Kernel, Space

_STATIC_LIMIT = 48 * 1024  # bytes of static shared memory in a kernel
_PADS = (1, 2, 4, 8)  # words, or elements where these are larger
_GAIN = 2  # a remedy that leaves more than this share of the wavefronts is none


@dataclass(frozen=True, slots=True)
class Use:
    """An access with its first byte, where that is known, and the bytes that it moves. ``rows``: of the matrices that a
    warp moves together."""

    place: Located
    offset: Term | None
    width: int
    indices: tuple[Term, ...] | None
    rows: int = 0

    @property
    def lanes(self) -> int:
        """How many of a warp give an address."""
        return self.rows or LANES


@dataclass(frozen=True, slots=True)
class Remedy:
    """``pad``: elements to add to the innermost dimension; else the last index is to be xor-ed with the row before it,
    modulo ``rows``, times ``unit`` elements. ``wavefronts``: of the access afterwards, where ``before`` were; it needs
    ``least``."""

    pad: int
    rows: int
    unit: int
    before: int = 0
    wavefronts: int = 0
    least: int = 0


Layout = Callable[[tuple[Term, ...]], Term]  # indices -> byte
# bytes of a lane, rows of matrices -> (wavefronts, least) of all instructions
Counter = Callable[[Asked, int, int], tuple[int, int]]


def remedy(kernel: Kernel, use: Use, uses: Sequence[Use], warps: Warps, total: Counter) -> Remedy | None:
    """The cheapest change of the declaration, else of the indices, after which ``use`` takes less than half of its
    wavefronts and no other access to the buffer takes more; None: there is none, or not every access is known."""
    buffer = kernel.buffers[use.place.access.buffer]
    others = [each for each in uses if each.place.access.buffer == buffer.index]
    if not _can_change(buffer, others, warps):
        return None
    before = [_count(each, each.offset, warps, total) for each in others]
    number = others.index(use)
    if any(each is None for each in before):
        return None
    best: Remedy | None = None
    for choice, layout in _layouts(kernel, buffer, warps):
        after = [_count(each, layout(each.indices or ()), warps, total) for each in others]
        if any(now is None or then is None or now[0] > then[0] for now, then in zip(after, before)):
            continue
        own, now = before[number], after[number]
        assert own is not None and now is not None
        if now[0] * _GAIN < own[0] and (best is None or now[0] < best.wavefronts):
            best = replace(choice, before=own[0], wavefronts=now[0], least=now[1])
    return best


def _can_change(buffer: Buffer, uses: Sequence[Use], warps: Warps) -> bool:
    """Is every access an index into rows of a known length, and none that counts rows as one long array?"""
    if not buffer.seen or buffer.element_bytes is None:
        return False
    if len(buffer.dims) < 2 or any(dim is None for dim in buffer.dims):
        return False
    columns = buffer.dims[-1] or 0
    for use in uses:
        if use.indices is None or len(use.indices) != len(buffer.dims) or use.offset is None:
            return False
        *outer, column = use.indices
        flat = all(isinstance(index, Const) and index.n == 0 for index in outer)
        if (flat and buffer.dims[0] != 1 and column.level > 0) or not _stays_in(column, columns, warps):
            return False
    return True


def _stays_in(column: Term, columns: int, warps: Warps) -> bool:
    high = warps.forms.bounds.interval(column)[1]
    return high < columns or warps.dims is None


def _count(use: Use, offset: Term | None, warps: Warps, total: Counter) -> tuple[int, int] | None:
    """Wavefronts with all lanes active: lanes that a guard keeps away never cause a conflict."""
    asked = None if offset is None else warps.asked(offset, use.place.path, unguarded=True, lanes=use.lanes)
    return None if asked is None else total(asked, use.width, use.rows)


def _layouts(kernel: Kernel, buffer: Buffer, warps: Warps) -> Iterator[tuple[Remedy, Layout]]:
    """Other layouts, the one that is easiest to write first."""
    element, columns = buffer.element_bytes or 1, buffer.dims[-1] or 0
    rows = (buffer.bytes or 0) // max(element * columns, 1)
    used = sum(each.bytes or 0 for each in kernel.buffers if each.space is Space.STATIC)
    for words in _PADS:
        pad = max(1, WORD // element) * words
        if buffer.space is Space.STATIC and used + rows * pad * element <= _STATIC_LIMIT:
            yield Remedy(pad, 0, 0), _padded(buffer, columns + pad, warps)
    unit = max(1, WORD // element)
    turned = min(BANKS * WORD // (unit * element), columns // unit)
    if turned > 1 and turned & (turned - 1) == 0 and columns % (turned * unit) == 0:
        yield Remedy(0, turned, unit), _swizzled(buffer, turned, unit, warps)


def _padded(buffer: Buffer, columns: int, warps: Warps) -> Layout:
    return lambda indices: _flat(buffer, (*buffer.dims[:-1], columns), indices, warps)


def _swizzled(buffer: Buffer, turned: int, unit: int, warps: Warps) -> Layout:
    table = warps.values.table

    def layout(indices: tuple[Term, ...]) -> Term:
        row = table.op("%", indices[-2], table.const(turned))
        column = table.op("^", indices[-1], table.op("*", row, table.const(unit)))
        return _flat(buffer, buffer.dims, (*indices[:-1], column), warps)

    return layout


def _flat(buffer: Buffer, dims: tuple[int | None, ...], indices: tuple[Term, ...], warps: Warps) -> Term:
    table = warps.values.table
    flat = indices[0]
    for index, dim in zip(indices[1:], dims[1:]):
        flat = table.op("+", table.op("*", flat, table.const(dim or 0)), index)
    return table.op("*", flat, table.const(buffer.element_bytes or 1))
