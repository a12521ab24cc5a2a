"""Do the threads of a block of known shape together write every byte of a buffer? Counted thread by thread and
iteration by iteration, for addresses that no solver inverts: rows that are stored swizzled.

Only what surely runs counts: a condition or an end of a loop that is not known leaves out what depends on it.
"""

from __future__ import annotations

from collections.abc import Iterable

from smem_lsp.analysis.values.evaluate import EvaluationBudget, Evaluator, iterations_within
from smem_lsp.analysis.values.running_threads import RunningThreads
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import Access, Dims, Kernel, Loop, Node

_MAX_WORK = 1 << 18  # values that are computed
_MAX_TURNS = 256
_MAX_BYTES = 1 << 18


def is_filled(
    kernel: Kernel, values: ValueFacts, dims: Dims, nodes: Iterable[Node], writes: frozenset[int], size: int
) -> bool:
    """``nodes``: statements that all threads come to; ``writes``: accesses among them (points) that count; ``size``: of
    the buffer in bytes."""
    if not 0 < size <= _MAX_BYTES:
        return False
    walk = _FillWalk(kernel, values, writes, size)
    walk.seq(nodes, Evaluator(dims, work=EvaluationBudget(_MAX_WORK)))
    return 0 not in walk.written


class _FillWalk(RunningThreads):
    def __init__(self, kernel: Kernel, values: ValueFacts, writes: frozenset[int], size: int) -> None:
        super().__init__(values)
        self.kernel = kernel
        self.writes = writes
        self.written = bytearray(size)

    def iterations(self, node: Loop, threads: Evaluator) -> Iterable[Evaluator]:
        facts = self.values.loops.get(node.point)
        iterations = (
            [] if facts is None or facts.exits else list(iterations_within(facts, threads, _MAX_TURNS))
        )
        known = [each for each in iterations if each is not None]
        return known if len(known) == len(iterations) else ()

    def access(self, node: Access, threads: Evaluator) -> None:
        if node.point in self.writes:
            self.add(node, threads)

    def add(self, access: Access, threads: Evaluator) -> None:
        buffer = self.kernel.buffers[access.buffer]
        width = access.width if access.width is not None else buffer.element_bytes
        offset = self.values.offset(access, buffer)
        starts = None if offset is None else threads.values(offset)
        if starts is None or not width:
            return
        ones = b"\1" * width
        for start in starts:
            if 0 <= start <= len(self.written) - width:
                self.written[start : start + width] = ones
