"""nvFuser's stack allocator: push what becomes live, pop what is dead on top, at barriers only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from smem_lsp.allocation.declared import declared
from smem_lsp.allocation.plan import Item, Plan, align_up
from smem_lsp.allocation.resolve_overlaps import resolve_overlaps
from smem_lsp.analysis.dataflow.conflicts import Conflicts
from smem_lsp.analysis.dataflow.facts import Facts
from smem_lsp.analysis.dataflow.skeleton import Stretch
from smem_lsp.ir.nodes import Access, Assignment, Barrier, BarrierSite, Branch, Loop, Seq
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass


def stack(
    items: Sequence[Item],
    body: Seq,
    facts: Facts,
    conflicts: Conflicts,
    added: frozenset[int] = frozenset(),
) -> Plan:
    """The stack layout in bytes, with ``added`` (Place points) as barriers; it may be larger than declared.
    ``body``: that of the kernel, or its outline.

    Lives are closed intervals from the first write to the last read, lifted to the outermost loop around
    the access; a barrier counts outside branches and where every loop around it runs. nvFuser checks
    neither back edges nor branches, so where two buffers share bytes against ``conflicts`` the earlier life
    is extended and the allocator runs again (``resolve_overlaps``; nvFuser csrc/device_lower/pass/alias_memory.cpp).
    """
    walk = Walk(facts, added)
    end = collect(body, None, True, walk) + 1
    lives = {item.index: walk.interval(item.index) for item in items}
    offsets = resolve_overlaps(items, lives, conflicts, end, lambda found: run(items, found, walk.barriers))
    if offsets is None:
        plan = declared(items)
        return Plan("stack", plan.bytes, plan.offsets)
    return Plan("stack", max((offsets[item.index] + item.size for item in items), default=0), offsets)


@dataclass(frozen=True, slots=True)
class Walk:
    facts: Facts
    added: frozenset[int]
    barriers: list[int] = field(default_factory=list)
    # Per buffer: (start, end) of each write, of each read, of each access.
    writes: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    reads: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    touches: dict[int, list[tuple[int, int]]] = field(default_factory=dict)

    def interval(self, buffer: int) -> tuple[int, int]:
        """First write and last read; any access stands in for a missing one. No access: dead at once."""
        touches = self.touches.get(buffer, [(0, 0)])
        first = min(start for start, _ in self.writes.get(buffer, touches[:1]))
        last = max(end for _, end in self.reads.get(buffer, touches[-1:]))
        return first, max(first, last)


def collect(seq: Seq, lifted: tuple[int, int] | None, counts: bool, walk: Walk) -> int:
    """Collects accesses and barriers; ``lifted``: the outermost loop around. Returns the last point."""
    last = 0
    for node in seq.items:
        if isinstance(node, Assignment):
            continue
        last = max(last, node.point)
        if isinstance(node, Access):
            span = lifted or (node.point, node.point)
            walk.touches.setdefault(node.buffer, []).append(span)
            if node.kind.writes:
                walk.writes.setdefault(node.buffer, []).append(span)
            if node.kind.reads:
                walk.reads.setdefault(node.buffer, []).append(span)
        elif isinstance(node, Barrier):
            if counts and node.point in walk.facts.barriers:
                walk.barriers.append(node.point)
        elif isinstance(node, BarrierSite):
            places = node.places if isinstance(node, Stretch) else (node.point,)
            if counts and not walk.added.isdisjoint(places):
                walk.barriers.append(node.point)
        elif isinstance(node, Branch):
            last = max(last, collect(node.then, lifted, False, walk))
            last = max(last, collect(node.otherwise, lifted, False, walk))
        elif isinstance(node, Loop):
            span = lifted or (node.point, node.end_point)
            # A loop that runs exactly once has no back edge.
            inner = lifted if node.trips == 1 else span
            collect(node.body, inner, counts and node.min_trip >= 1, walk)
            last = max(last, node.end_point)
    return last


def run(
    items: Sequence[Item], lives: Mapping[int, tuple[int, int]], barriers: Iterable[int]
) -> dict[int, int]:
    offsets: dict[int, int] = {}
    piled: list[Item] = []
    arriving = sorted(items, key=lambda item: lives[item.index][0])
    arrived = 0
    waiting: list[Item] = []

    def push() -> None:
        checkpoint()
        # Lives that end last go deepest; among equals the later name.
        waiting.sort(key=lambda item: (item.name, item.index), reverse=True)
        waiting.sort(key=lambda item: -lives[item.index][1])
        for item in waiting:
            top = offsets[piled[-1].index] + piled[-1].size if piled else 0
            offsets[item.index] = align_up(top, item.align)
            piled.append(item)
        waiting.clear()

    for point in sorted(barriers):
        while arrived < len(arriving) and lives[arriving[arrived].index][0] <= point:
            waiting.append(arriving[arrived])
            arrived += 1
        if waiting and not any(lives[item.index][1] <= point for item in waiting):
            continue
        push()
        while piled and lives[piled[-1].index][1] <= point:
            piled.pop()
    waiting.extend(arriving[arrived:])
    push()
    return offsets
