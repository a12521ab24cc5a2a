"""Exactly which bytes some accesses touch in a block of known shape, by running the loops around them for all threads.

Intervals forget how a condition and an index hang together: ``if (t % 64 >= 1) s[t - 1]``. What is not known, a loop's
end or a condition, is taken as anything, so the result holds whatever jumps there are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from smem_lsp.analysis.values.evaluate import EvaluationBudget, Evaluator, iterations_within
from smem_lsp.analysis.values.extents import Extent
from smem_lsp.analysis.values.running_threads import RunningThreads
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import Access, Branch, Dims, Kernel, Loop, Node, bodies, walk
from smem_lsp.source import checkpoint

_MAX_WORK = 1 << 19  # values that are computed
_MAX_TURNS = 256
_MAX_BYTES = 1 << 16  # that one access touches

SEVERAL = -1  # in place of a thread


def touched(
    kernel: Kernel, values: ValueFacts, dims: Dims, wanted: frozenset[int]
) -> Mapping[int, Extent | None]:
    """Access (its point, one of ``wanted``) -> (first byte, end byte) of what threads touch that may run it; None: any.
    Accesses that no thread runs are left out."""
    walked = _EnumerationWalk(kernel, values, wanted)
    walked.seq(kernel.body, Evaluator(dims, work=EvaluationBudget(_MAX_WORK)))
    return walked.found


def by_thread(
    kernel: Kernel, values: ValueFacts, dims: Dims, accesses: Collection[Access]
) -> Callable[[int], Mapping[int, int] | None]:
    """Of an access (its point): byte of its buffer -> the one thread that touches it, in whatever iterations of the
    loops around it, ``SEVERAL`` if several do. None: not known, or no access of each thread to bytes of its own
    choice. Worked out for each access that is asked about."""
    plain = frozenset(
        each.point
        for each in accesses
        if each.part is None
        and each.start is None
        and not (each.guess or each.rows or each.serves or each.asynchronous or each.beside)
    )
    walked = _ByThread(kernel, values, plain)
    walked.seq(kernel.body, Evaluator(dims, work=EvaluationBudget(_MAX_WORK)))
    return walked.bytes_of


class _EnumerationWalk(RunningThreads):
    def __init__(self, kernel: Kernel, values: ValueFacts, wanted: frozenset[int]) -> None:
        super().__init__(values)
        self.kernel = kernel
        self.wanted = wanted
        self.found: dict[int, Extent | None] = {}

    def matters(self, node: Node) -> bool:
        return any(each.point in self.wanted for inner in bodies(node) for each in walk(inner))

    def branch(self, node: Branch, threads: Evaluator) -> Evaluator | None:
        return super().branch(node, threads) if self.matters(node) else threads

    def undecided(self, threads: Evaluator) -> Evaluator:
        return threads

    def iterations(self, node: Loop, threads: Evaluator) -> Iterable[Evaluator]:
        if not self.matters(node):
            return ()
        facts = self.values.loops.get(node.point)
        iterations = [] if facts is None else list(iterations_within(facts, threads, _MAX_TURNS))
        if facts is None or (iterations and iterations[-1] is None):
            return (threads,)  # of any iteration
        return [each for each in iterations if each is not None]

    def access(self, node: Access, threads: Evaluator) -> None:
        if node.point in self.wanted:
            self.add(node, threads)

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


class _ByThread(_EnumerationWalk):
    """``starts``: of each access, the first bytes that it is at, with the thread; None: they are not known."""

    def __init__(self, kernel: Kernel, values: ValueFacts, wanted: frozenset[int]) -> None:
        super().__init__(kernel, values, wanted)
        self.starts: dict[int, set[tuple[int, int]] | None] = {}
        self.widths: dict[int, int] = {}
        self.told: dict[int, dict[int, int] | None] = {}

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
        if point not in self.told:
            self.told[point] = self._bytes_of(point) if point in self.wanted else None
        return self.told[point]

    def _bytes_of(self, point: int) -> dict[int, int] | None:
        starts = self.starts.get(point, set())
        if starts is None:
            return None
        found: dict[int, int] = {}
        for start, thread in starts:
            checkpoint()
            for byte in range(start, start + self.widths[point]):
                found[byte] = thread if found.get(byte, thread) == thread else SEVERAL
        return found
