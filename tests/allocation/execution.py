"""Two threads run a region tree: what really happens, for one way to decide every branch.

Uniform decisions are drawn once for both threads (per node and turn of the loops around it), divergent ones
by each thread for itself. The events of a thread fall into phases, cut by the barriers that all threads
run; inside a phase the two threads may interleave in any way.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from smem_lsp.analysis.dataflow.conflicts import Pairs, pair
from smem_lsp.analysis.dataflow.facts import Facts
from smem_lsp.ir.nodes import Access, AccessKind, Barrier, BarrierSite, Branch, Jump, JumpKind, Loop, Seq
from smem_lsp.ir.places import Row

from .trees import Tree

TURNS = 3


@dataclass(frozen=True)
class Event:
    """An access of a thread; the mark of a covering node has point 0."""

    phase: int
    order: int
    access: Access


class Thread:
    def __init__(
        self, facts: Facts, added: frozenset[int], shared: dict[object, int], rng: random.Random
    ) -> None:
        self.facts, self.added, self.shared, self.rng = facts, added, shared, rng
        self.turns: list[int] = []
        self.phase = 0
        self.events: list[Event] = []

    def decide(self, point: int, low: int, high: int) -> int:
        if point not in self.facts.uniform:
            return self.rng.randint(low, high)
        key = (point, *self.turns)
        if key not in self.shared:
            self.shared[key] = self.rng.randint(low, high)
        return self.shared[key]

    def run(self, seq: Seq) -> JumpKind | None:
        """Runs ``seq`` and says how it was left: by a jump of this kind, or None at its end."""
        for node in seq.items:
            for buffer in self.facts.covering.get(node.point, ()):
                mark = Access(0, buffer, AccessKind.WRITE, None, None, Row(0))
                self.events.append(Event(self.phase, len(self.events), mark))
            if isinstance(node, Access):
                self.events.append(Event(self.phase, len(self.events), node))
            elif isinstance(node, Barrier | BarrierSite):
                self.phase += node.point in self.facts.barriers or node.point in self.added
            elif isinstance(node, Branch):
                left = self.run(node.then if self.decide(node.point, 0, 1) else node.otherwise)
                if left:
                    return left
            elif isinstance(node, Loop):
                for turn in range(self.decide(node.point, node.min_trip, TURNS)):
                    self.turns.append(turn)
                    left = self.run(node.body)
                    self.turns.pop()
                    if left is JumpKind.RETURN:
                        return left
                    if left is JumpKind.BREAK:
                        break
            elif isinstance(node, Jump) and (node.point in self.facts.uniform or self.rng.random() < 0.5):
                return node.kind
        return None


def clashes(tree: Tree, rng: random.Random, added: frozenset[int], equal: Pairs) -> set[frozenset[int]]:
    """Pairs of buffers that one run of two threads shows to be unfit to share bytes.

    ``equal``: pairs that would only ever share at the same offset, so that own slots do not meet.
    """
    shared: dict[object, int] = {}
    runs: list[list[Event]] = []
    for _ in range(2):
        thread = Thread(tree.facts, added, shared, rng)
        thread.run(tree.body)
        runs.append(thread.events)
    return _races(tree.facts, runs, equal) | _lost(tree.facts, runs)


def _races(facts: Facts, runs: list[list[Event]], equal: Pairs) -> set[frozenset[int]]:
    """Both threads touch the shared bytes in one phase, as different buffers, and one writes."""
    out: set[frozenset[int]] = set()
    for x in runs[0]:
        for y in runs[1]:
            a, b = x.access, y.access
            if not a.point or not b.point:
                continue
            if (
                x.phase != y.phase
                or a.buffer == b.buffer
                or (a.kind is AccessKind.READ and b.kind is AccessKind.READ)
            ):
                continue
            key = pair(a.buffer, b.buffer)
            mine = facts.slots.get(a.point)
            if not (key in equal and mine is not None and mine == facts.slots.get(b.point)):
                out.add(key)
    return out


def _lost(facts: Facts, runs: list[list[Event]]) -> set[frozenset[int]]:
    """A value is overwritten through another buffer and read afterwards."""
    out: set[frozenset[int]] = set()
    first: list[dict[int, Event]] = [{}, {}]  # per thread: the first write of each buffer
    for thread, run in enumerate(runs):
        for event in run:
            if event.access.kind.writes and event.access.point:
                first[thread].setdefault(event.access.buffer, event)
    for reader, run in enumerate(runs):
        renewed: dict[int, Event] = {}  # the last full write of each buffer so far
        for read in run:
            buffer = read.access.buffer
            if read.access.kind is AccessKind.WRITE:
                if not read.access.point or read.access.point in facts.full:
                    renewed[buffer] = read
                continue
            again = renewed.get(buffer)
            for other in (0, 1):
                for over in runs[other]:
                    key = pair(buffer, over.access.buffer)
                    if (
                        over.access.kind is AccessKind.READ
                        or not over.access.point
                        or len(key) == 1
                        or key in out
                    ):
                        continue
                    if not _before(over, other, read, reader):
                        continue
                    held = any(
                        buffer in first[each] and _before(first[each][buffer], each, over, other)
                        for each in (0, 1)
                    )
                    if held and not (again and _since(again, reader, over, other)):
                        out.add(key)
    return out


def _before(x: Event, of_x: int, y: Event, of_y: int) -> bool:
    return x.order < y.order if of_x == of_y else x.phase < y.phase


def _since(full: Event, of_full: int, over: Event, of_over: int) -> bool:
    """``full`` comes after ``over``; in one phase of two threads that is a race, which is found anyway."""
    return full.order > over.order if of_full == of_over else full.phase >= over.phase
