"""The time axis of a drawn map: program points on rows, one row for each source line that something happens on.

Rows are in program order. Lines of a function that is called in the middle stand where they run, so a number may
come twice. Lines between two rows are filled in where they are few and counted where they are many.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace

from smem_lsp.ir.nodes import Loop, walk
from smem_lsp.output.memory_map import MemoryMap, Point
from smem_lsp.output.style import shown
from smem_lsp.source import SourceText
from smem_lsp.source.record import dataclass

_EVENTS = frozenset(("read", "write", "update", "barrier", "loop", "loop_end", "branch"))
_HEAVY = frozenset(("read", "write", "update", "barrier"))
_FEW = 4  # lines between two rows that are shown
_DECLARATIONS = 12  # lines with a declaration that are shown; more are counted only
_LIGHT = 0.04  # the share of a row that an uneventful point gets, when an access or a barrier takes 1


@dataclass(frozen=True, slots=True)
class MapRow:
    """One source line, or ``skipped`` lines that are left out. ``text``: as it may be shown, common indent removed.
    ``called``: it stands in a function that the kernel calls."""

    line: int | None
    text: str = ""
    skipped: int = 0
    called: bool = False


@dataclass(frozen=True, slots=True)
class LoopRows:
    """Where a loop is drawn, in rows; ``depth`` 0: in no other loop."""

    top: float
    bottom: float
    depth: int
    line: int


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """``spans``: top and bottom of each point, in rows from the top."""

    rows: tuple[MapRow, ...]
    spans: Mapping[int, tuple[float, float]]
    loops: tuple[LoopRows, ...]

    def top(self, point: int) -> float:
        return self.spans[point][0]

    def bottom(self, point: int) -> float:
        return self.spans[point][1]


def time_axis(drawn: MemoryMap) -> TimeAxis:
    """The axis for all layouts of a map."""
    eventful = _eventful(drawn)
    rows = _RowBuilder(
        drawn.source, [(p.first_line, p.last_line) for p in drawn.kernel.places.parts], _declared_lines(drawn)
    )
    rows.go_to(drawn.kernel.line)
    for point in drawn.points:
        line = eventful.get(point.index)
        if line is None:
            rows.add(point)
        else:
            rows.go_to(line)
            rows.add_here(point)
    rows.settle(None)
    spans: dict[int, tuple[float, float]] = {}
    for number, points in enumerate(rows.points):
        _share(number, points, spans)
    return TimeAxis(_outdented(rows.rows), spans, tuple(_loops(drawn, spans)))


def _eventful(drawn: MemoryMap) -> dict[int, int]:
    """Point -> the line of the row that it makes. Added barriers make one, too: they are drawn in front of it."""
    places = {point for drawing in drawn.worth_drawing for point in drawing.plan.barriers}
    found: dict[int, int] = {}
    for point in drawn.points:
        if point.line is not None and (point.kind in _EVENTS or point.index in places):
            found[point.index] = point.line
    return found


def _declared_lines(drawn: MemoryMap) -> frozenset[int]:
    """Lines of the kernel that declare a buffer, where they are not a page of their own."""
    spans = (drawn.kernel.places.span(buffer.declared) for buffer in drawn.kernel.buffers)
    lines = {drawn.source.line_number(span.start) for span in spans if drawn.kernel.span.covers(span)}
    return frozenset(lines) if len(lines) <= _DECLARATIONS else frozenset()


@dataclass(slots=True)
class _RowBuilder:
    """Rows that are made one after the other, with the points on each."""

    source: SourceText
    parts: Sequence[tuple[int, int]]  # first and last line of the kernel and of the functions that it calls
    keep: frozenset[int]  # lines that are never left out
    rows: list[MapRow] = field(default_factory=list)
    points: list[list[Point]] = field(default_factory=list)
    waiting: list[Point] = field(default_factory=list)  # with no row yet: of the last one or of the next
    part: int = 0
    reached: dict[int, int] = field(default_factory=dict)  # part -> the last line shown of it

    def add(self, point: Point) -> None:
        """A point that makes no row."""
        if not self.waiting and self.rows[-1].line == point.line:
            self.points[-1].append(point)
        else:
            self.waiting.append(point)

    def add_here(self, point: Point) -> None:
        self.points[-1] += [*self.waiting, point]
        self.waiting.clear()

    def go_to(self, line: int) -> None:
        """Make the row of ``line``, unless it is the last one already."""
        part = self._part_of(line)
        if self.rows and part == self.part and self.rows[-1].line == line:
            return
        if part != self.part:
            self._leave()
        self.settle(line)
        if part == self.part or part == 0:
            self._fill(part, line)
        self._append(self._row(line, part))
        self.reached[part] = max(line, self.reached.get(part, 0) if part in (self.part, 0) else 0)
        self.part = part

    def settle(self, line: int | None) -> None:
        """Give the waiting points to the last row, but for those of ``line``."""
        kept = [point for point in self.waiting if line is not None and point.line == line]
        if self.rows:
            self.points[-1] += self.waiting[: len(self.waiting) - len(kept)]
            self.waiting = self.waiting[len(self.waiting) - len(kept) :]

    def _leave(self) -> None:
        """Before another function: go as far as the call, which is where the last waiting point of this one stands."""
        reached = self.reached.get(self.part, 0)
        lines = (point.line for point in self.waiting if point.line is not None)
        call = max(
            (line for line in lines if line > reached and self._part_of(line) == self.part), default=None
        )
        if call is not None:
            self.settle(call)
            self._fill(self.part, call)
            self._append(self._row(call, self.part))
            self.reached[self.part] = call

    def _part_of(self, line: int) -> int:
        around = [index for index, (first, last) in enumerate(self.parts) if first <= line <= last]
        return min(around, key=lambda index: self.parts[index][1] - self.parts[index][0], default=0)

    def _fill(self, part: int, line: int) -> None:
        """Rows for the lines after the last one shown of ``part`` and before ``line``."""
        reached = self.reached.get(part)
        if reached is None:
            return
        for stop in (*sorted(kept for kept in self.keep if reached < kept < line), line):
            missing = range(reached + 1, stop)
            if len(missing) <= _FEW:
                for number in missing:
                    self._append(self._row(number, part))
            else:
                self._append(MapRow(None, skipped=len(missing)))
            if stop != line:
                self._append(self._row(stop, part))
            reached = stop

    def _append(self, row: MapRow) -> None:
        self.rows.append(row)
        self.points.append([])

    def _row(self, line: int, part: int) -> MapRow:
        if line > self.source.line_count():
            return MapRow(line)
        start = self.source.lines.starts[line - 1]
        text = shown(self.source.text[start : self.source.line_end(start)].rstrip())
        return MapRow(line, text, called=part > 0)


def _outdented(rows: Sequence[MapRow]) -> tuple[MapRow, ...]:
    indents = [len(row.text) - len(row.text.lstrip()) for row in rows if row.text]
    common = min(indents, default=0)
    return tuple(replace(row, text=row.text[common:]) for row in rows)


def _share(number: int, points: Sequence[Point], spans: dict[int, tuple[float, float]]) -> None:
    """Divide row ``number`` among its points: accesses and barriers alike, the others a sliver."""
    weights = [1.0 if point.kind in _HEAVY else _LIGHT for point in points]
    whole = sum(weights)
    done = 0.0
    for point, weight in zip(points, weights):
        top = number + done / whole
        done += weight
        spans[point.index] = (round(top, 4), round(number + done / whole, 4))


def _loops(drawn: MemoryMap, spans: Mapping[int, tuple[float, float]]) -> Iterable[LoopRows]:
    ends: list[int] = []
    for node in walk(drawn.kernel.body):
        if isinstance(node, Loop):
            ends = [end for end in ends if node.point < end]
            yield LoopRows(
                spans[node.point][0], spans[node.end_point][1], len(ends), drawn.kernel.places.line(node.line)
            )
            ends.append(node.end_point)
