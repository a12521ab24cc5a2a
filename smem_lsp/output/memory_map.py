"""The memory map of one kernel as data, before it is drawn: one rectangle per live range and layout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations

from smem_lsp.allocation.plan import Plan
from smem_lsp.analysis.dataflow.live_sets import live_ranges, live_sets
from smem_lsp.engine.report import FileReport, KernelReport
from smem_lsp.facts.partition import PartitionLayouts
from smem_lsp.ir.nodes import (
    Access,
    AccessKind,
    Assignment,
    Barrier,
    BarrierKind,
    BarrierSite,
    Branch,
    CopyWait,
    GlobalAccess,
    Jump,
    Kernel,
    Loop,
    Node,
    Proxy,
    Remote,
    WarpCollective,
    walk,
)
from smem_lsp.output.json_ import buffer_names
from smem_lsp.output.map_layouts import MapLayout, MapPart, layouts, with_ranges
from smem_lsp.output.map_terms import TermMap, term_map
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.source import SourceText
from smem_lsp.source.record import dataclass

_ACCESS_KINDS = {AccessKind.READ: "read", AccessKind.WRITE: "write", AccessKind.UPDATE: "update"}


@dataclass(frozen=True, slots=True)
class Point:
    """A program point. ``line``: 1-based, None where the source has no text for it."""

    index: int
    line: int | None
    kind: str


@dataclass(frozen=True, slots=True)
class Rectangle:
    """Bytes ``offset`` to ``offset + size``, in use from point ``first`` to point ``last``, both inclusive."""

    buffer: int
    first: int
    last: int
    first_line: int
    last_line: int
    offset: int
    size: int

    @property
    def end(self) -> int:
        return self.offset + self.size

    def shares_bytes(self, other: Rectangle) -> bool:
        return self.offset < other.end and other.offset < self.end

    def meets(self, other: Rectangle) -> bool:
        """Do they have a point in common?"""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True, slots=True)
class BlockBarrier:
    """A barrier of the block. ``proved``: every thread runs it, so a layout may count on it."""

    point: int
    line: int
    proved: bool


@dataclass(frozen=True, slots=True)
class Drawing:
    """One layout. ``assumes``: what it rests on, in words; empty for a proved one. ``dynamic_at``: the byte at which
    ranges of dynamic shared memory begin; None without any."""

    plan: Plan
    rectangles: tuple[Rectangle, ...]
    assumes: tuple[str, ...] = ()
    dynamic_at: int | None = None

    @property
    def added(self) -> int:
        return len(self.plan.barriers)

    def of(self, buffer: int) -> tuple[Rectangle, ...]:
        return tuple(rectangle for rectangle in self.rectangles if rectangle.buffer == buffer)

    def sharing(self, buffer: int) -> tuple[int, ...]:
        """The other buffers with bytes of ``buffer``, by index."""
        own = self.of(buffer)[:1]  # all its rectangles have the same bytes
        others = {r.buffer for r in self.rectangles if r.buffer != buffer and own and r.shares_bytes(own[0])}
        return tuple(sorted(others))

    @property
    def tightest(self) -> int | None:
        """The first point at which every buffer of the clique holds its bytes; None where there is none."""
        lives = [self.of(buffer) for buffer in self.plan.clique]
        starts = sorted(rectangle.first for rectangles in lives for rectangle in rectangles)
        for point in starts:
            if all(any(r.first <= point <= r.last for r in rectangles) for rectangles in lives):
                return point
        return None

    @property
    def exclusive(self) -> tuple[tuple[int, int], ...]:
        """Pairs of buffers that share bytes where both may hold a value, each on a path that excludes the other."""
        pairs = {
            (min(a.buffer, b.buffer), max(a.buffer, b.buffer))
            for a, b in combinations(self.rectangles, 2)
            if a.buffer != b.buffer and a.shares_bytes(b) and a.meets(b)
        }
        return tuple(sorted(pairs))


@dataclass(frozen=True, slots=True)
class MemoryMap:
    """Everything that a map of one kernel shows. ``drawings``: in the order of the report's plans. ``dynamic_base``:
    the array of dynamic shared memory that is shown as its ranges; ``terms``: what they are drawn for, where their
    bytes are no numbers."""

    source: SourceText
    report: KernelReport
    names: Mapping[int, str]  # of the buffers, unique
    points: tuple[Point, ...]
    barriers: tuple[BlockBarrier, ...]
    drawings: tuple[Drawing, ...]
    dynamic_base: int | None = None
    terms: TermMap | None = None

    def bytes_text(self, value: int) -> str:
        """``4,096``, or ``4·n``: a place on the byte axis, or the bytes of a buffer or layout."""
        return f"{value:,}" if self.terms is None else self.terms.texts.get(value, f"{value:,}")

    def bytes_value(self, value: int) -> int | str:
        """The same for a program: a number, or the term."""
        return value if self.terms is None else self.terms.texts.get(value, value)

    def saved_text(self, drawing: Drawing) -> str:
        """What a layout needs less than the declared one, in the same words; there is one."""
        assert self.declared is not None
        if self.terms is not None:
            return self.terms.saved[drawing.plan.bytes]
        return f"{self.declared.plan.bytes - drawing.plan.bytes:,}"

    @property
    def kernel(self) -> Kernel:
        return self.report.kernel

    @property
    def declared(self) -> Drawing | None:
        return next((d for d in self.drawings if d.plan.allocator == "declared" and d.rectangles), None)

    @property
    def best(self) -> tuple[Drawing, ...]:
        """The smallest layouts, with rising numbers of added barriers."""
        return tuple(d for d in self.drawings if d.plan.allocator == "best" and d.rectangles)

    @property
    def worth_drawing(self) -> tuple[Drawing, ...]:
        """The declared layout, then those that need fewer bytes; empty when sizes are not known."""
        if self.declared is None:
            return ()
        smaller = (d for d in self.best if d.plan.bytes < self.declared.plan.bytes)
        return (self.declared, *smaller)

    def proof(self, drawing: Drawing) -> Drawing | None:
        """The layout whose clique shows that ``drawing`` cannot be smaller: itself, or the best one of its size."""
        if drawing.plan.allocator == "best":
            return drawing
        return next((d for d in self.best if not d.added and d.plan.bytes == drawing.plan.bytes), None)

    def outlined(self, drawing: Drawing) -> frozenset[int]:
        """The buffers of that clique, unless they are all that is drawn."""
        proof = self.proof(drawing)
        clique = frozenset() if proof is None else frozenset(proof.plan.clique)
        return clique if any(r.buffer not in clique for r in drawing.rectangles) else frozenset()


def memory_map(report: FileReport, index: int, *, in_terms: bool = False) -> MemoryMap:
    """The map of the kernel with this index. ``in_terms``: ranges of which the bytes are known in terms only are drawn,
    too.

    A buffer that never shares (its address escapes, say) keeps its bytes through the whole kernel, and so do all
    buffers where the flow of control is not known. Layouts that rest on an assumption are drawn with the lives that
    hold under it.
    """
    facts, kernel_report = report.facts[index], report.kernels[index]
    storage = _drawn_apart(facts)
    if storage is not None:
        lines = _lines(tuple(program_points(report.source, kernel_report)))
        live = {buffer: (lines[first], lines[last]) for buffer, (first, last) in storage.lives.items()}
        own = [live[each.index] for each in storage.partition.ranges if each.index in live]
        live[storage.partition.base] = min(a for a, _ in own), max(b for _, b in own)
        facts = facts.split(storage)
        plans = (storage.declared, *(candidate.plan for candidate in storage.best))
        kernel_report = replace(kernel_report, kernel=facts.kernel, plans=plans, live=live)
    terms = term_map(facts) if in_terms and storage is None else None
    if terms is None:
        found = layouts(facts, kernel_report)
        shown = with_ranges(facts, kernel_report, found)
    else:
        found = list(terms.layouts)
        plans = tuple(each.plan for each in found)
        shown = replace(kernel_report, kernel=terms.facts.kernel, plans=plans)
    points = tuple(program_points(report.source, shown))
    lines = _lines(points)
    if facts.dynamic_partition is not None:
        divided = {at: (lines[a], lines[b]) for at, (a, b) in facts.dynamic_partition.lives.items()}
        whole = min(a for a, _ in divided.values()), max(b for _, b in divided.values())
        shown = replace(shown, live={**shown.live, **divided, facts.dynamic_partition.partition.base: whole})
    drawings = [
        Drawing(each.plan, tuple(_drawn(each, lines)), each.assumes, each.dynamic_at) for each in found
    ]
    base = None if facts.dynamic_partition is None else facts.dynamic_partition.partition.base
    if terms is not None:
        base = terms.base
        shown = replace(shown, live={**shown.live, **_lives(drawings[0])})
    return MemoryMap(
        report.source,
        shown,
        buffer_names(report.source, shown.kernel),
        points,
        tuple(_barriers(shown)),
        tuple(_with_clique(drawing, shown.kernel) for drawing in drawings),
        base,
        terms,
    )


def _lives(drawing: Drawing) -> dict[int, tuple[int, int]]:
    """By buffer: the first and the last line of its rectangles."""
    found: dict[int, tuple[int, int]] = {}
    for each in drawing.rectangles:
        first, last = found.get(each.buffer, (each.first_line, each.last_line))
        found[each.buffer] = min(first, each.first_line), max(last, each.last_line)
    return found


def _drawn_apart(facts: KernelFacts) -> PartitionLayouts | None:
    """The class in shared memory to draw member by member: the one whose members save most, if nothing else saves
    bytes."""
    declared = facts.declared
    if declared is None or facts.dynamic_partition is not None:
        return None
    if any(each.plan.bytes < declared.bytes for each in facts.best):
        return None
    return min(facts.class_partitions, key=lambda each: min(c.plan.bytes for c in each.best), default=None)


def _drawn(layout: MapLayout, lines: Mapping[int, int]) -> Iterator[Rectangle]:
    for part in layout.parts:
        yield from _rectangles(part, lines)


def _with_clique(drawing: Drawing, kernel: Kernel) -> Drawing:
    """Static arrays and ranges behind them force bytes together only where all of them are in use at once."""
    plan, at = drawing.plan, drawing.dynamic_at
    if not at or not plan.clique:
        return drawing
    both = {plan.offsets[buffer] < at for buffer in plan.clique} == {True, False}
    tight = plan.lower_bound == plan.bytes and drawing.tightest is not None
    if both and tight and not kernel.helper_bytes:
        return drawing
    return replace(drawing, plan=replace(plan, clique=()))


def program_points(source: SourceText, report: KernelReport) -> list[Point]:
    """Every program point, by index."""
    found: list[Point] = []
    places = report.kernel.places
    for node in walk(report.kernel.body):
        line = report.point_lines.get(node.point)
        if line is None and not isinstance(node, Assignment):
            line = places.line(node.line)
        found.append(Point(node.point, line, _kind(node)))
        if isinstance(node, Loop):
            last = source.line_number(places.span(node.span).end - 1) if node.span else None
            found.append(Point(node.end_point, report.point_lines.get(node.end_point, last), "loop_end"))
    return sorted(found, key=lambda point: point.index)


def _lines(points: tuple[Point, ...]) -> dict[int, int]:
    """The line of every point; one without takes that of the point before it."""
    found: dict[int, int] = {}
    line = next((point.line for point in points if point.line is not None), 1)
    for point in points:
        line = point.line or line
        found[point.index] = line
    return found


def _rectangles(part: MapPart, lines: Mapping[int, int]) -> Iterator[Rectangle]:
    sets = live_sets(part.facts.kernel.body, part.under)
    if not sets:
        return
    whole = [(min(sets), max(sets))]
    for buffer in part.facts.kernel.buffers:
        offset = part.plan.offsets.get(buffer.index)
        if offset is None or not buffer.bytes:
            continue
        stays = buffer.fixed is not None or part.facts.withheld is not None
        for first, last in whole if stays else live_ranges(sets, buffer.index):
            place = (lines[first], lines[last], offset, buffer.bytes)
            yield Rectangle(buffer.index, first, last, *place)


def _barriers(report: KernelReport) -> Iterator[BlockBarrier]:
    nodes = (node for node in walk(report.kernel.body) if isinstance(node, Barrier))
    for node, row in zip(nodes, report.barriers):
        if node.kind is BarrierKind.BLOCK:
            yield BlockBarrier(node.point, report.kernel.places.line(node.line), row.uniform == "proved")


def _kind(node: Node) -> str:
    match node:
        case Access():
            return _ACCESS_KINDS[node.kind]
        case Barrier():
            return "barrier"
        case Loop():
            return "loop"
        case Branch():
            return "branch"
        case Jump():
            return node.kind.value
        case WarpCollective():
            return "exchange"
        case GlobalAccess():
            return "global"
        case CopyWait():
            return "copy wait"
        case Proxy():
            return "proxy"
        case Remote():
            return "cluster"
        case BarrierSite():
            return "place"
        case Assignment():
            return "assign"
