"""The effect of another layout of a buffer on the bank conflicts of all its accesses: padded rows, or columns swizzled
by exclusive or."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from smem_lsp.analysis.banks.active_lanes import LocatedAccess
from smem_lsp.analysis.banks.lane_addresses import LanePatterns, Warps
from smem_lsp.analysis.banks.rows import row_and_byte
from smem_lsp.analysis.banks.wavefronts import tile_wavefronts
from smem_lsp.ir.nodes import AccessKind, AddressSpace, Buffer, Kernel, Tile
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.targets.every import BANK_WIDTH, BANKS, STATIC_LIMIT, WARP_SIZE
from smem_lsp.terms.language import Const, Term

_PADS = (1, 2, 4, 8)  # in words, or in elements that are larger than a word
_TILE = 16  # bytes: the pitch of a matrix that a warp moves is a multiple of it
_GAIN = 2  # a change is worth making when it leaves less than 1/2 of the wavefronts


@dataclass(frozen=True, slots=True)
class Use:
    """An access with its first byte (None: unknown) and the ``width`` in bytes that each lane moves. ``rows``: of the
    matrices that a warp moves together."""

    place: LocatedAccess
    offset: Term | None
    width: int
    indices: tuple[Term, ...] | None
    rows: int = 0

    @property
    def lanes(self) -> int:
        """How many lanes of a warp give an address."""
        return self.rows or WARP_SIZE

    @property
    def landing(self) -> bool:
        """Is it the arrival of an asynchronous copy, which is counted where it is issued?"""
        access = self.place.access
        return access.asynchronous and access.kind is AccessKind.UPDATE

    @property
    def tile(self) -> Tile | None:
        return self.place.access.tile


@dataclass(frozen=True, slots=True)
class LayoutChange:
    """Another layout of a buffer: ``pad`` elements more in each row or, where that is 0, the last index xor-ed with
    ``row % rows * unit`` elements. ``before`` and ``wavefronts``: wavefronts of the access in the old and the new
    layout; ``least``: those that it needs. ``leading``: some access is told the length of the rows."""

    pad: int
    rows: int
    unit: int
    before: int = 0
    wavefronts: int = 0
    least: int = 0
    leading: bool = False


Count = tuple[int, int]  # (wavefronts, least) of all instructions
Counter = Callable[
    [LanePatterns, int, int], Count
]  # of lanes with so many bytes, of matrices of so many rows


def layout_changes(
    kernel: Kernel, use: Use, uses: Sequence[Use], warps: Warps, total: Counter
) -> tuple[LayoutChange, ...]:
    """The best padding and the best swizzle, the one that leaves fewer wavefronts first. Each leaves ``use`` less than
    half of its wavefronts and costs no other access to the buffer any. None where some access is not known."""
    buffer = kernel.buffers[use.place.access.buffer]
    others = [each for each in uses if each.place.access.buffer == buffer.index and not each.landing]
    rows = _Rows.of(buffer, warps)
    if rows is None or not all(map(rows.can_move, others)):
        return ()
    before = [rows.count(each, None, total) for each in others]
    if any(each is None for each in before):
        return ()
    number = others.index(use)
    best: dict[bool, LayoutChange] = {}  # by whether it is padding
    for choice in _choices(kernel, buffer, others):
        checkpoint()
        after = [rows.count(each, choice, total) for each in others]
        if any(now is None or then is None or _worse(now, then) for now, then in zip(after, before)):
            continue
        own, now = before[number], after[number]
        assert own is not None and now is not None
        was = own[0] * now[1] // own[1]  # more iterations may have been followed
        known = best.get(choice.pad > 0)
        if now[0] * _GAIN < was and (known is None or now[0] * known.least < known.wavefronts * now[1]):
            leading = any(each.tile is not None for each in others)
            made = replace(choice, before=was, wavefronts=now[0], least=now[1], leading=leading)
            best[choice.pad > 0] = made
    return tuple(sorted(best.values(), key=lambda each: each.wavefronts / each.least))


def _worse(now: Count, then: Count) -> bool:
    """Are there more wavefronts for each that is needed, and more than one?"""
    return now[0] * then[1] > max(then) * now[1]


def _choices(kernel: Kernel, buffer: Buffer, uses: Sequence[Use]) -> Iterator[LayoutChange]:
    """Other layouts, the one that is easiest to write first. What vectors are loaded from stays aligned and whole."""
    element, columns = buffer.element_bytes or 1, buffer.dims[-1] or 0
    widest = max(BANK_WIDTH, *(_TILE if use.tile is not None else use.width for use in uses))
    rows = (buffer.bytes or 0) // max(element * columns, 1)
    used = sum(each.bytes or 0 for each in kernel.buffers if each.space is AddressSpace.STATIC)
    for words in _PADS:
        pad = max(1, BANK_WIDTH // element) * words
        room = buffer.space is AddressSpace.STATIC and used + rows * pad * element <= STATIC_LIMIT
        if room and pad * element % widest == 0:
            yield LayoutChange(pad, 0, 0)
    unit = max(1, widest // element)
    turned = min(BANKS * BANK_WIDTH // (unit * element), columns // unit)
    powers = turned & (turned - 1) == 0 and element & (element - 1) == 0
    if turned > 1 and powers and columns % (turned * unit) == 0:
        yield LayoutChange(0, turned, unit)


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of a buffer, of ``columns`` elements of ``element`` bytes each."""

    buffer: Buffer
    columns: int
    element: int
    warps: Warps

    @staticmethod
    def of(buffer: Buffer, warps: Warps) -> _Rows | None:
        """The rows; None: there are none that could be changed."""
        if not buffer.placed or buffer.element_bytes is None or len(buffer.dims) < 2:
            return None
        columns = None if any(dim is None for dim in buffer.dims) else buffer.dims[-1]
        return _Rows(buffer, columns, buffer.element_bytes, warps) if columns else None

    @property
    def pitch(self) -> int:
        return self.columns * self.element

    def can_move(self, use: Use) -> bool:
        """Does it access rows of this length, and not the rows as one long array?"""
        if use.tile is not None:
            return use.tile.pitch == self.pitch
        if use.offset is None:
            return False
        if use.indices is None:
            raw = use.rows > 0 or use.place.access.asynchronous  # accessed by an address, not by indices
            return self.warps.forms.divided(use.offset, self.pitch, turned=raw) is not None
        if len(use.indices) != len(self.buffer.dims):
            return False
        *outer, column = use.indices
        flat = all(isinstance(index, Const) and index.n == 0 for index in outer)
        if flat and self.buffer.dims[0] != 1 and column.level > 0:
            return False
        high = self.warps.forms.bounds.interval(column)[1]
        return high < self.columns or self.warps.dims is None

    def count(self, use: Use, choice: LayoutChange | None, total: Counter) -> Count | None:
        """Wavefronts after a change, with all lanes active: lanes that a guard keeps away never cause a conflict."""
        if use.tile is not None:
            if choice is not None and not choice.pad:
                return None
            pitch = use.tile.pitch + (0 if choice is None else choice.pad * self.element)
            cost = tile_wavefronts(use.tile.rows, use.tile.row_bytes, pitch)
            return cost.wavefronts, cost.least
        offset = use.offset if choice is None else self._moved(use, choice)
        asked = (
            None
            if offset is None
            else self.warps.asked(offset, use.place.path, unguarded=True, lanes=use.lanes)
        )
        return None if asked is None else total(asked, use.width, use.rows)

    def _moved(self, use: Use, choice: LayoutChange) -> Term | None:
        """Where it begins after the change."""
        table = self.warps.values.table
        place = row_and_byte(self.warps.forms, self.buffer, use.offset, use.indices)
        if place is None:
            return None
        row, byte = place
        if choice.pad:
            pitch = self.pitch + choice.pad * self.element
        else:
            pitch = self.pitch
            iteration = table.op("%", row, table.const(choice.rows))
            byte = table.op("^", byte, table.op("*", iteration, table.const(choice.unit * self.element)))
        return table.op("+", table.op("*", row, table.const(pitch)), byte)
