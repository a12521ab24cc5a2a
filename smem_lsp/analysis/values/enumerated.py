"""Exactly which bytes some accesses touch in a block of known shape, by running the loops around them for all threads.

Intervals forget how a condition and an index hang together: ``if (t % 64 >= 1) s[t - 1]``. What is not known, a loop's
end or a condition, is taken as anything, so the result holds whatever jumps there are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field

from smem_lsp.analysis.values.evaluate import Evaluator, Work, iterations
from smem_lsp.analysis.values.extents import Extent
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import Access, Branch, Dims, Kernel, Loop, Seq, walk
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass

_MAX_WORK = 1 << 19  # values that are computed
_MAX_TURNS = 256
_MAX_BYTES = 1 << 16  # that one access touches

SEVERAL = -1  # in place of a thread


def touched(
    kernel: Kernel, values: ValueFacts, dims: Dims, wanted: frozenset[int]
) -> Mapping[int, Extent | None]:
    """Access (its point, one of ``wanted``) -> (first byte, end byte) of what threads touch that may run it; None: any.
    Accesses that no thread runs are left out."""
    walked = _Walk(kernel, values, wanted)
    walked.run(kernel.body, Evaluator(dims, work=Work(_MAX_WORK)))
    return walked.found


def by_thread(
    kernel: Kernel, values: ValueFacts, dims: Dims, accesses: Collection[Access]
) -> Mapping[int, Mapping[int, int]]:
    """Access (its point) -> byte of its buffer -> the one thread that touches it, in whatever turns of the loops around
    it, ``SEVERAL`` if several do. Left out is what is not known, and what is no access of each thread to bytes of its
    own choice."""
    plain = frozenset(
        each.point
        for each in accesses
        if each.part is None
        and each.start is None
        and not (each.guess or each.rows or each.serves or each.asynchronous or each.beside)
    )
    walked = _ByThread(kernel, values, plain)
    walked.run(kernel.body, Evaluator(dims, work=Work(_MAX_WORK)))
    return {point: found for point in plain if (found := walked.bytes_of(point)) is not None}


@dataclass(slots=True)
class _Walk:
    kernel: Kernel
    values: ValueFacts
    wanted: frozenset[int]
    found: dict[int, Extent | None] = field(default_factory=dict)

    def run(self, seq: Seq, threads: Evaluator) -> None:
        for node in seq:
            checkpoint()
            if isinstance(node, Access):
                if node.point in self.wanted:
                    self.add(node, threads)
            elif isinstance(node, Branch):
                condition = self.values.conditions.get(node.point)
                taken = None if condition is None else threads.values(condition)
                for arm, value in ((node.then, True), (node.otherwise, False)):
                    running = threads
                    if taken is not None:
                        some = threads.of([bool(each) is value for each in taken])
                        if some is None:
                            continue
                        running = some
                    if self.matters(arm):
                        self.run(arm, running)
            elif isinstance(node, Loop) and self.matters(node.body):
                facts = self.values.loops.get(node.point)
                turns = [] if facts is None else list(iterations(facts, threads, _MAX_TURNS))
                if facts is None or (turns and turns[-1] is None):
                    turns = [threads]  # of any turn
                for turn in turns:
                    if turn is not None:
                        self.run(node.body, turn)

    def matters(self, seq: Seq) -> bool:
        return any(node.point in self.wanted for node in walk(seq))

    def add(self, access: Access, threads: Evaluator) -> None:
        buffer = self.kernel.buffers[access.buffer]
        width = access.width if access.width is not None else buffer.element_bytes
        offset = self.values.offset(access, buffer)
        starts = None if offset is None or access.guess or access.part is not None else threads.values(offset)
        if starts is None or not width:
            self.found[access.point] = None
            return
        low, high = self.found.get(access.point, (min(starts), max(starts) + width)) or (None, None)
        if low is not None and high is not None:
            self.found[access.point] = min(low, *starts), max(high, max(starts) + width)


@dataclass(slots=True)
class _ByThread(_Walk):
    """``starts``: of each access, the first bytes that it is at, with the thread; None: they are not known."""

    starts: dict[int, set[tuple[int, int]] | None] = field(default_factory=dict)
    widths: dict[int, int] = field(default_factory=dict)

    def add(self, access: Access, threads: Evaluator) -> None:
        buffer = self.kernel.buffers[access.buffer]
        width = access.width if access.width is not None else buffer.element_bytes
        offset = self.values.offset(access, buffer)
        found = None if offset is None else threads.values(offset)
        known = self.starts.setdefault(access.point, set())
        if found is None or not width or known is None or len(known) > _MAX_BYTES // width:
            self.starts[access.point] = None
            return
        self.widths[access.point] = width
        known.update(zip(found, threads.threads))

    def bytes_of(self, point: int) -> dict[int, int] | None:
        starts = self.starts.get(point, set())
        if starts is None:
            return None
        found: dict[int, int] = {}
        for start, thread in starts:
            checkpoint()
            for byte in range(start, start + self.widths[point]):
                found[byte] = thread if found.get(byte, thread) == thread else SEVERAL
        return found
