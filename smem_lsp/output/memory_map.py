"""The memory map of one kernel, before anybody draws it: a rectangle for each live range in each layout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations

from smem_lsp.allocation.plan import Plan
from smem_lsp.analysis.facts import Facts
from smem_lsp.analysis.live_sets import live_ranges, live_sets
from smem_lsp.engine.report import KernelReport, Report
from smem_lsp.ir.model import (
    Access,
    Assign,
    Barrier,
    Branch,
    Exchange,
    GlobalAccess,
    Jump,
    Kernel,
    Kind,
    Loop,
    Node,
    Place,
    walk,
)
from smem_lsp.output.json_ import buffer_names
from smem_lsp.rules.subject import Carved, KernelFacts
from smem_lsp.source import SourceText

_ACCESS_KINDS = {Kind.READ: "read", Kind.WRITE: "write", Kind.UPDATE: "update"}


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
    """One layout. ``assumes``: what it rests on, in words; empty for a proved one."""

    plan: Plan
    rectangles: tuple[Rectangle, ...]
    assumes: tuple[str, ...] = ()

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
    """Everything that a map of one kernel shows. ``drawings``: in the order of the report's plans."""

    source: SourceText
    report: KernelReport
    names: Mapping[int, str]  # of the buffers, unique
    points: tuple[Point, ...]
    barriers: tuple[BlockBarrier, ...]
    drawings: tuple[Drawing, ...]

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


def memory_map(report: Report, index: int) -> MemoryMap:
    """The map of the kernel with this index.

    A buffer that never shares (its address escapes, say) keeps its bytes through the whole kernel, and so do all
    buffers where the flow of control is not known. Layouts that rest on an assumption are drawn with the lives that
    hold under it.
    """
    facts, kernel_report = report.facts[index], report.kernels[index]
    carved = _drawn_apart(facts)
    if carved is not None:
        ranges = facts.split(carved)
        plans = (carved.declared, *(candidate.plan for candidate in carved.best))
        lines = _lines(tuple(program_points(report.source, kernel_report)))
        live = {buffer: (lines[first], lines[last]) for buffer, (first, last) in carved.lives.items()}
        own = [live[each.index] for each in carved.carving.ranges if each.index in live]
        live[carved.carving.base] = min(a for a, _ in own), max(b for _, b in own)
        kernel_report = replace(kernel_report, kernel=ranges.kernel, plans=plans, live=live)
        facts = ranges
    points = tuple(program_points(report.source, kernel_report))
    lines = _lines(points)
    drawings: list[Drawing] = []
    for plan in kernel_report.plans:
        candidate = next((c for c in facts.best if c.plan is plan), None)
        under = facts_in_force(facts) if candidate is None else candidate.facts
        assumes = () if candidate is None else facts.assumptions(candidate)
        drawings.append(Drawing(plan, tuple(_rectangles(facts, plan, under, lines)), assumes))
    return MemoryMap(
        report.source,
        kernel_report,
        buffer_names(report.source, kernel_report.kernel),
        points,
        tuple(_barriers(kernel_report)),
        tuple(drawings),
    )


def _drawn_apart(facts: KernelFacts) -> Carved | None:
    """The buffer whose ranges are drawn in its place: that which they save most of, where the buffers as they are
    declared save nothing."""
    if not facts.items:
        return facts.carved
    declared = facts.declared
    if declared is None or any(each.plan.bytes < declared.bytes for each in facts.best):
        return None
    return min(facts.storages, key=lambda each: min(c.plan.bytes for c in each.best), default=None)


def program_points(source: SourceText, report: KernelReport) -> list[Point]:
    """Every program point, by index."""
    found: list[Point] = []
    for node in walk(report.kernel.body):
        line = report.point_lines.get(node.point)
        if line is None and not isinstance(node, Assign):
            line = node.line
        found.append(Point(node.point, line, _kind(node)))
        if isinstance(node, Loop):
            last = source.line_number(node.span.end - 1) if node.span else None
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


def facts_in_force(facts: KernelFacts) -> Facts:
    """What is proved of a kernel without an assumption, where a layout rests on it; else nothing."""
    for candidate in facts.best:
        if not candidate.assumes_shape:
            return candidate.facts
    return facts.best[0].facts if facts.best else Facts()


def _rectangles(
    facts: KernelFacts, plan: Plan, under: Facts, lines: Mapping[int, int]
) -> Iterator[Rectangle]:
    sets = live_sets(facts.kernel.body, under)
    if not sets:
        return
    whole = [(min(sets), max(sets))]
    for buffer in facts.kernel.buffers:
        offset = plan.offsets.get(buffer.index)
        if offset is None or not buffer.bytes:
            continue
        stays = buffer.fixed is not None or facts.withheld is not None
        for first, last in whole if stays else live_ranges(sets, buffer.index):
            place = (lines[first], lines[last], offset, buffer.bytes)
            yield Rectangle(buffer.index, first, last, *place)


def _barriers(report: KernelReport) -> Iterator[BlockBarrier]:
    nodes = (node for node in walk(report.kernel.body) if isinstance(node, Barrier))
    for node, row in zip(nodes, report.barriers):
        if node.kind == "block":
            yield BlockBarrier(node.point, node.line, row.uniform == "proved")


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
            return node.kind
        case Exchange():
            return "exchange"
        case GlobalAccess():
            return "global"
        case Place():
            return "place"
        case Assign():
            return "assign"
