"""nvFuser's stack allocator: push what becomes live, pop what is dead on top, at barriers only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from smem_lsp.allocation.declared import declared
from smem_lsp.allocation.plan import Item, Plan, align_up
from smem_lsp.analysis.conflicts import Conflicts, pair
from smem_lsp.analysis.facts import Facts
from smem_lsp.ir.model import Access, Barrier, Branch, Loop, Place, Seq

ROUNDS = 60  # after that a life is extended to the end of the kernel at once


def stack(
    items: Sequence[Item],
    body: Seq,
    facts: Facts,
    conflicts: Conflicts,
    added: frozenset[int] = frozenset(),
) -> Plan:
    """The stack layout in bytes, with ``added`` (Place points) as barriers; it may be larger than declared.

    Lives are closed intervals from the first write to the last read, lifted to the outermost loop around
    the access; a barrier counts outside branches and where every loop around it runs. nvFuser checks
    neither back edges nor branches, so where two buffers share bytes against ``conflicts`` the earlier life
    is extended and the allocator runs again (nvFuser csrc/device_lower/pass/alias_memory.cpp; reference:
    reuse of shared memory, 3.1).
    """
    walk = _Walk(facts, added)
    end = _events(body, None, True, walk) + 1
    lives = {item.index: walk.interval(item.index) for item in items}
    by_name = sorted(items, key=lambda item: (item.name, item.index))
    rounds = ROUNDS + len(items)
    while rounds:
        offsets = _run(items, lives, walk.barriers)
        clash = _clash(by_name, offsets, conflicts)
        if clash is None:
            peak = max((offsets[item.index] + item.size for item in items), default=0)
            return Plan("stack", peak, offsets)
        rounds -= 1
        earlier, later = sorted(clash, key=lambda item: (lives[item.index][1], item.name, item.index))
        first, last = lives[earlier.index]
        extended = max(last + 1, lives[later.index][1]) if rounds > len(items) else end
        lives[earlier.index] = (first, extended)
    plan = declared(items)
    return Plan("stack", plan.bytes, plan.offsets)


@dataclass(frozen=True, slots=True)
class _Walk:
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


def _events(seq: Seq, lifted: tuple[int, int] | None, counts: bool, walk: _Walk) -> int:
    """Collects accesses and barriers; ``lifted``: the outermost loop around. Returns the last point."""
    last = 0
    for node in seq.items:
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
        elif isinstance(node, Place):
            if counts and node.point in walk.added:
                walk.barriers.append(node.point)
        elif isinstance(node, Branch):
            last = max(last, _events(node.then, lifted, False, walk))
            last = max(last, _events(node.otherwise, lifted, False, walk))
        elif isinstance(node, Loop):
            span = lifted or (node.point, node.end_point)
            # A loop of exactly one turn has no back edge to be careful about.
            inner = lifted if node.trips == 1 else span
            _events(node.body, inner, counts and node.min_trip >= 1, walk)
            last = max(last, node.end_point)
    return last


def _run(
    items: Sequence[Item], lives: Mapping[int, tuple[int, int]], barriers: Iterable[int]
) -> dict[int, int]:
    offsets: dict[int, int] = {}
    piled: list[Item] = []
    arriving = sorted(items, key=lambda item: lives[item.index][0])
    arrived = 0
    waiting: list[Item] = []

    def push() -> None:
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


def _clash(
    items: Sequence[Item], offsets: Mapping[int, int], conflicts: Conflicts
) -> tuple[Item, Item] | None:
    """The first two items, by name, that share bytes although they may not."""
    for at, a in enumerate(items):
        low = offsets[a.index]
        for b in items[at + 1 :]:
            start = offsets[b.index]
            if low < start + b.size and start < low + a.size:
                if conflicts.apart(a.index, b.index):
                    return a, b
                if low != start and pair(a.index, b.index) in conflicts.equal:
                    return a, b
    return None
