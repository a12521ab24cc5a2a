"""Loads of one place of shared memory with no write in between: a thread gets one value, unless others write meanwhile.

A kernel that keeps its state in shared memory asks for the same member again and again. What a thread has found there
holds until some statement between writes the place, or a call does that is not followed. Where only one arm of a branch
that the block takes together holds such a statement, it holds on the way through the other one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from smem_lsp.analysis.threads.uniformity import Levels
from smem_lsp.analysis.values.extents import Extent
from smem_lsp.ir.nodes import Access, AccessKind, Branch, Kernel, Loop, Seq, storages_of, walk
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.terms.language import Const, Term

_Place = tuple[int, Term, int]  # buffer, first byte, bytes
Arm = tuple[int, bool]  # of a branch (point): where its condition holds, or else
Earlier = tuple[tuple[int, frozenset[Arm]], ...]
"""Loads (points) that get the same on the way through all of some arms."""
_MOST = 4  # of them


def rereads(kernel: Kernel, levels: Levels) -> Mapping[int, Earlier]:
    """By load (its point): those that get the same."""
    found = _Loads(kernel, levels, storages_of(kernel.buffers))
    found.follow(kernel.body)
    return found.earlier


@dataclass(slots=True)
class _Loads:
    """``last``: of each place, what was loaded since it was written; ``called``: calls (of ``Kernel.opaque``) that are
    passed."""

    kernel: Kernel
    levels: Levels
    storages: Mapping[int, int]
    earlier: dict[int, Earlier] = field(default_factory=dict)
    last: dict[_Place, Earlier] = field(default_factory=dict)
    called: int = 0

    def follow(self, body: Seq) -> None:
        for node in body.items:
            checkpoint()
            self.pass_calls(node.point)
            if isinstance(node, Access):
                self.access(node)
            elif isinstance(node, Branch):
                self.branch(node)
            elif isinstance(node, Loop):
                self.loop(node)

    def branch(self, node: Branch) -> None:
        condition = self.levels.values.conditions.get(node.point)
        before = dict(self.last)
        self.follow(node.then)
        if condition is None or not self.levels.uniform(condition):
            self.follow(node.otherwise)  # some threads write in one arm what others load in the other
            return
        then, self.last = self.last, before.copy()
        self.follow(node.otherwise)
        otherwise, self.last = self.last, {}
        for place, loads in before.items():
            kept = [truth for truth, left in ((True, then), (False, otherwise)) if left.get(place) == loads]
            if len(kept) == 2:
                self.last[place] = loads
            elif kept:
                self.last[place] = tuple((load, arms | {(node.point, kept[0])}) for load, arms in loads)

    def pass_calls(self, point: int) -> None:
        opaque = self.kernel.opaque
        passed = self.called
        while passed < len(opaque) and opaque[passed] <= point:
            passed += 1
        if passed > self.called:
            self.called = passed
            self.last.clear()

    def loop(self, node: Loop) -> None:
        """What is written in an iteration is there in the next one; what an iteration loads is of that iteration."""
        if node.trips == 1:
            self.follow(node.body)
            return
        if any(node.point < each <= node.end_point for each in self.kernel.opaque):
            self.last.clear()
        for each in walk(node.body):
            if isinstance(each, Access) and each.kind is not AccessKind.READ:
                self.write(each)
        before = dict(self.last)
        self.follow(node.body)
        self.last = {place: loads for place, loads in before.items() if self.last.get(place) == loads}

    def access(self, node: Access) -> None:
        if node.kind is not AccessKind.READ:
            self.write(node)
            return
        place = self.place(node)
        if place is None:
            return
        loads = self.last.get(place, ())
        if not loads or loads[0][1]:
            loads = ((node.point, frozenset()), *loads)[:_MOST]
        self.earlier[node.point] = self.last[place] = loads

    def write(self, node: Access) -> None:
        if self.last:
            for place in list(self.overwritten(node)):
                del self.last[place]

    def overwritten(self, node: Access) -> Iterator[_Place]:
        """The places that a write may touch."""
        storage, written = self.storages[node.buffer], self.extent(node)
        for place in self.last:
            if self.storages[place[0]] == storage:
                read = _bytes(place) if place[0] == node.buffer else None
                if written is None or read is None or max(written[0], read[0]) < min(written[1], read[1]):
                    yield place

    def extent(self, node: Access) -> Extent | None:
        """Bytes that hold all that it touches; None: not known."""
        found = self.place(node)
        return node.within if found is None else _bytes(found) or node.within

    def place(self, node: Access) -> _Place | None:
        offset = self.levels.values.offset(node, self.kernel.buffers[node.buffer])
        plain = not (node.guess or node.is_unplaced or node.start is not None or node.tile is not None)
        return (node.buffer, offset, node.width) if plain and offset is not None and node.width else None


def _bytes(place: _Place) -> Extent | None:
    """The bytes of the buffer; None: the thread decides which."""
    _, start, width = place
    return (start.n, start.n + width) if isinstance(start, Const) else None
