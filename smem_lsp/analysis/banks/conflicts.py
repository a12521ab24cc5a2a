"""Bank conflicts: shared accesses that take more wavefronts than their lanes need.

An access is counted as written, and as part of the vector access that nvcc may form with neighbours at constant
distances (unrolled iterations, adjacent statements). It is reported only if every count has the excess.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from smem_lsp.analysis.banks.active_lanes import LocatedAccess, located
from smem_lsp.analysis.banks.lane_addresses import LanePatterns, Pattern, Warps
from smem_lsp.analysis.banks.padding_and_swizzle import LayoutChange, Use, layout_changes
from smem_lsp.analysis.banks.wavefronts import (
    WIDTHS,
    Cost,
    most_in_one_bank,
    stride,
    tile_wavefronts,
    wavefronts,
)
from smem_lsp.analysis.threads.uniformity import Levels
from smem_lsp.analysis.values.block_shape import BlockShape, most_threads
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import Dims, Kernel, Tile
from smem_lsp.source import checkpoint
from smem_lsp.source.queries import remembered
from smem_lsp.source.record import dataclass
from smem_lsp.targets.every import BANK_WIDTH, WARP_SIZE
from smem_lsp.terms.language import Term

WORTH_SAYING = 4  # times the wavefronts that the lanes need
_MAX_ACCESSES = 2_000  # of a kernel; beyond, nothing is reported
_WIDEST = 16  # bytes: the longest vector


@dataclass(frozen=True, slots=True)
class BankConflict:
    """One access, by its ``point``. ``wavefronts`` and ``least``: of its worst instruction; ``total_wavefronts`` and
    ``total_least``: of the ``instructions`` of one block that were counted, all warps and iterations; ``alike``: they
    all take the same. ``stride``: bytes from lane to lane, None: not the same everywhere; ``in_bank``: most words that
    one bank has to deliver in a pass; ``at_least``: wavefronts are a
    lower bound, of a matrix whose elements lanes share in a way that is not documented."""

    point: int
    buffer: int
    wavefronts: int
    least: int
    instructions: int
    total_wavefronts: int
    total_least: int
    alike: bool
    stride: int | None
    in_bank: int
    looped: bool
    layout_changes: tuple[LayoutChange, ...]  # the best padding and the best swizzle, the better one first
    at_least: bool = False


@dataclass(frozen=True, slots=True)
class _Totals:
    wavefronts: int
    least: int

    @property
    def excess(self) -> float:
        return self.wavefronts / self.least if self.least else 0.0


_QUIET = _Totals(0, 1)  # undocumented hardware behaviour, or nothing runs


def bank_conflicts(
    kernel: Kernel,
    values: ValueFacts,
    levels: Levels,
    shape: BlockShape | None,
    *,
    excess: float = WORTH_SAYING,
) -> tuple[BankConflict, ...]:
    """The accesses with at least ``excess`` times the wavefronts that they need, in order.

    Without a block shape, only kernels that use ``threadIdx.x`` alone are analysed: 32 lanes in a row.
    """
    if kernel.irregular is not None:
        return ()
    places = list(located(kernel.body, values))
    if len(places) > _MAX_ACCESSES:
        return ()
    known = _warps_known(kernel, values, shape)
    warps = Warps(values, levels, None if shape is None else shape.dims) if known else None
    if warps is None and not any(place.access.tile is not None for place in places):
        return ()
    return tuple(_ConflictSearch(kernel, values, warps, places, excess).run())


def _warps_known(kernel: Kernel, values: ValueFacts, shape: BlockShape | None) -> bool:
    """Is it known which threads form a warp, and does the kernel distinguish them?"""
    axes = values.table.axes()
    if shape is None:
        return axes == "x" and _in_rows(kernel)
    # otherwise the block's extent in y is unknown
    return bool(axes) and (shape.source == "launch" or _covers(shape.dims, axes))


def _in_rows(kernel: Kernel) -> bool:
    """May 32 threads in a row be assumed to form a warp of a block of unknown shape?"""
    blocks = [site.block for site in kernel.launches if site.block is not None]
    return most_threads(kernel)[0] >= WARP_SIZE and all(block[0] % WARP_SIZE == 0 for block in blocks)


def _covers(dims: Dims, axes: str) -> bool:
    return all(dims["xyz".index(axis)] > 1 or axis == "x" for axis in axes)


_Kin = tuple[int, int, int, bool, bool]  # buffer, width, rows of matrices, does it read, does it write


class _ConflictSearch:
    def __init__(
        self,
        kernel: Kernel,
        values: ValueFacts,
        warps: Warps | None,
        places: Sequence[LocatedAccess],
        excess: float,
    ) -> None:
        self.kernel = kernel
        self.excess = excess
        self.warps = warps
        self.uses = [self._use(place, values) for place in places]
        self.asked: Mapping[int, LanePatterns | None] = {}
        self.beside = self._neighbours()

    def _use(self, place: LocatedAccess, values: ValueFacts) -> Use:
        access = place.access
        buffer = self.kernel.buffers[access.buffer]
        width = access.width if access.width is not None else buffer.element_bytes
        usable = not access.guess and access.part is None and width in WIDTHS
        if access.index is not None and (buffer.align or 1) < (width or 0):
            usable = False  # a class that is moved in pieces
        offset = values.offset(access, buffer) if usable else None
        return Use(place, offset, width or 0, values.indices.get(access.point), access.rows)

    def run(self) -> Iterator[BankConflict]:
        warps = self.warps
        if warps is not None:
            self.asked = {
                use.place.access.point: warps.asked(use.offset, use.place.path, lanes=use.lanes)
                for use in self.uses
                if use.offset is not None
            }
        for use in self.uses:
            found = self._tile(use, use.tile) if use.tile is not None else None
            asked = self.asked.get(use.place.access.point)
            if asked is not None and asked.patterns and use.offset is not None and warps is not None:
                found = self._judged(use, use.offset, asked, warps)
            if found is not None:
                yield found

    def _tile(self, use: Use, tile: Tile) -> BankConflict | None:
        """All instructions that move one matrix, counted as one."""
        cost = tile_wavefronts(tile.rows, tile.row_bytes, tile.pitch)
        if tile.pitch % BANK_WIDTH or cost.wavefronts < self.excess * cost.least:
            return None
        return BankConflict(
            point=use.place.access.point,
            buffer=use.place.access.buffer,
            wavefronts=cost.wavefronts,
            least=cost.least,
            instructions=1,
            total_wavefronts=cost.wavefronts,
            total_least=cost.least,
            alike=True,
            stride=tile.pitch,
            in_bank=cost.wavefronts,
            looped=use.place.looped,
            layout_changes=()
            if self.warps is None
            else layout_changes(self.kernel, use, self.uses, self.warps, _total),
            at_least=True,
        )

    def _judged(self, use: Use, offset: Term, asked: LanePatterns, warps: Warps) -> BankConflict | None:
        checkpoint()
        written = _cost(asked.patterns, asked.shared_step, use.width, use.rows)
        if written.excess < self.excess:
            return None
        if not use.rows and any(
            each.excess < self.excess for each in self._vectors(use, offset, asked, warps)
        ):
            return None
        costs = {pattern: _one(pattern, use.width, use.rows) for pattern in asked.patterns}
        worst = max(costs, key=lambda pattern: (costs[pattern].wavefronts, -costs[pattern].least))
        strides = {stride(pattern) for pattern in asked.patterns}
        return BankConflict(
            point=use.place.access.point,
            buffer=use.place.access.buffer,
            wavefronts=costs[worst].wavefronts,
            least=costs[worst].least,
            instructions=sum(asked.patterns.values()),
            total_wavefronts=written.wavefronts,
            total_least=written.least,
            alike=len({(cost.wavefronts, cost.least) for cost in costs.values()}) == 1,
            stride=strides.pop() if len(strides) == 1 else None,
            in_bank=most_in_one_bank(worst, use.width),
            looped=use.place.looped,
            layout_changes=layout_changes(self.kernel, use, self.uses, warps, _total),
        )

    # ---- vectors that the compiler may make ----------------------------------------------------------------------

    def _neighbours(self) -> Mapping[_Kin, list[Use]]:
        """Accesses of one width that do the same to one buffer."""
        found: defaultdict[_Kin, list[Use]] = defaultdict(list)
        for use in self.uses:
            if use.offset is not None:
                found[_kin(use)].append(use)
        return found

    def _vectors(self, use: Use, offset: Term, asked: LanePatterns, warps: Warps) -> Iterator[_Totals]:
        """The cost with each vector access that the access may become a part of."""
        beside = self._beside(use, offset, asked, warps)
        anywhere = set[int]().union(*beside.values())
        exact = not asked.steps and len(asked.patterns) == 1
        for width in WIDTHS:
            checkpoint()
            for before in range(0, width, use.width) if width > use.width else ():
                fused: Counter[Pattern] = Counter()
                plain: Counter[Pattern] = Counter()
                for pattern, count in asked.patterns.items():
                    near = beside.get(_distances(pattern), anywhere)
                    vector = _shifted(pattern, -before)
                    whole = all(at - before in near for at in range(0, width, use.width))
                    if whole and _aligned(vector, width, exact=exact and asked.shared_step % width == 0):
                        fused[vector] += count
                    else:
                        plain[pattern] += count
                if fused:
                    together = _cost(fused, asked.shared_step, width, 0)
                    rest = _cost(plain, asked.shared_step, use.width, 0)
                    yield _Totals(together.wavefronts + rest.wavefronts, together.least + rest.least)

    def _beside(
        self, use: Use, offset: Term, asked: LanePatterns, warps: Warps
    ) -> Mapping[Pattern, set[int]]:
        """Byte distances to accessed neighbours, in the same statements or in other iterations, per pattern of lane
        distances: neighbours in one iteration may not be neighbours in the next."""
        near: dict[Pattern, set[int]] = {distances: set() for _, distances in asked.starts}
        for other in self.beside[_kin(use)]:
            checkpoint()
            assert other.offset is not None
            constant = warps.forms.difference(other.offset, offset)
            known = self.asked[other.place.access.point]
            for start, own in asked.starts.items():
                found = near[start[1]]
                if constant is not None:
                    found |= _reach({constant}, asked.steps)
                if known is None or start not in known.starts:
                    continue
                if known.folds:
                    found |= set(range(-_WIDEST, _WIDEST))
                steps = known.steps + asked.steps
                found |= _reach({b - a for a in own for b in known.starts[start]}, steps)
        return near


def _kin(use: Use) -> _Kin:
    access = use.place.access
    return access.buffer, use.width, use.rows, access.kind.reads, access.kind.writes


def _reach(distances: set[int], steps: Iterable[int]) -> set[int]:
    """Distances, shorter than the longest vector, that whole multiples of ``steps`` reach."""
    found = {at for at in distances if abs(at) < 4 * _WIDEST}
    for step in steps:
        checkpoint()
        if 0 < abs(step) < _WIDEST:
            found |= {at + step * n for at in found for n in range(-_WIDEST, _WIDEST + 1)}
            found = {at for at in found if abs(at) < 4 * _WIDEST}
    return {at for at in found if abs(at) < _WIDEST}


def _aligned(pattern: Pattern, width: int, *, exact: bool) -> bool:
    """Can every lane load ``width`` bytes at once? ``exact``: offsets count from an aligned byte."""
    active = [offset for offset in pattern if offset is not None]
    return not any((offset - (0 if exact else active[0])) % width for offset in active)


def _total(asked: LanePatterns, width: int, rows: int) -> tuple[int, int]:
    found = _cost(asked.patterns, asked.shared_step, width, rows)
    return found.wavefronts, found.least


def _cost(patterns: Mapping[Pattern, int], shared_step: int, width: int, rows: int) -> _Totals:
    """Wavefronts of all instructions, for the best start within a word."""
    starts: Iterable[int] = (0,)
    if width < BANK_WIDTH and shared_step % BANK_WIDTH:
        starts = range(0, BANK_WIDTH, shared_step & -shared_step)
    elif not all(_aligned(pattern, width, exact=False) for pattern in patterns):
        return _QUIET  # a class whose alignment is smaller: it is moved in pieces
    if not patterns:
        return _Totals(0, 0)
    found: list[_Totals] = []
    for start in starts:
        checkpoint()
        total = least = 0
        for pattern, count in patterns.items():
            cost = _one(_shifted(pattern, start), width, rows)
            if cost.merged:
                return _QUIET
            total += count * cost.wavefronts
            least += count * cost.least
        found.append(_Totals(total, least))
    return min(found, key=lambda totals: totals.excess)


def _distances(pattern: Pattern) -> Pattern:
    """Distances from the first active lane."""
    first = next((offset for offset in pattern if offset is not None), 0)
    return _shifted(pattern, -first)


def _shifted(pattern: Pattern, by: int) -> Pattern:
    return tuple([None if offset is None else offset + by for offset in pattern]) if by else pattern


@remembered(most=4096)
def _one(pattern: Pattern, width: int, rows: int) -> Cost:
    return wavefronts(pattern, width, rows=rows)
