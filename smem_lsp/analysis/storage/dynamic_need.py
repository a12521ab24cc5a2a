"""Which dynamic bytes a block of a given shape surely touches.

Only accesses in every run of the kernel count: guarded at most by conditions on the thread, the block's shape and
constants, in loops whose number of iterations is known.
"""

from __future__ import annotations

from collections.abc import Iterable

from smem_lsp.analysis.values.evaluate import Evaluator, asks
from smem_lsp.analysis.values.running_threads import RunningThreads
from smem_lsp.analysis.values.trip_counts import iterations_of
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import Access, AddressSpace, Branch, Dims, Jump, Kernel, Loop, Node, bodies, walk
from smem_lsp.source.record import dataclass


@dataclass(frozen=True, slots=True)
class Touched:
    """By one ``access`` (its point): bytes ``first`` to ``end``, from the start of dynamic shared memory."""

    first: int
    end: int
    access: int


@dataclass(frozen=True, slots=True)
class Need:
    """What of it begins lowest, and what ends highest."""

    lowest: Touched
    highest: Touched


def dynamic_need(kernel: Kernel, values: ValueFacts, dims: Dims) -> Need | None:
    """As far as it is known; None: unknown."""
    dynamic = {buffer.index for buffer in kernel.buffers if buffer.space is AddressSpace.DYNAMIC}
    if not dynamic or kernel.irregular is not None:
        return None
    need: Need | None = None
    sure = _Sure(values)
    sure.seq(kernel.body, Evaluator(dims))
    for access, threads in sure.found:
        buffer = kernel.buffers[access.buffer]
        width = access.width if access.width is not None else buffer.element_bytes
        if access.buffer not in dynamic or access.guess or access.part is not None or width is None:
            continue
        offset, moving = values.offset(access, buffer), asks(access, threads)
        reached = None if offset is None or moving is None else moving.values(offset)
        if not reached:
            continue
        touched = Touched(min(reached), max(reached) + width, access.point)
        if need is None:
            need = Need(touched, touched)
        elif touched.first < need.lowest.first or touched.end > need.highest.end:
            need = Need(
                min(need.lowest, touched, key=lambda each: each.first),
                max(need.highest, touched, key=lambda each: each.end),
            )
    return need


class _Sure(RunningThreads):
    """``found``: accesses that surely run, with the threads that run them, up to the first jump."""

    def __init__(self, values: ValueFacts) -> None:
        super().__init__(values)
        self.found: list[tuple[Access, Evaluator]] = []

    def access(self, node: Access, threads: Evaluator) -> None:
        self.found.append((node, threads))

    def step(self, node: Node, threads: Evaluator) -> Evaluator | None:
        return None if isinstance(node, Jump) else super().step(node, threads)

    def branch(self, node: Branch, threads: Evaluator) -> Evaluator | None:
        behind = super().branch(node, threads)
        return None if _leaves(node) else behind

    def loop(self, node: Loop, threads: Evaluator) -> Evaluator | None:
        return None if _leaves(node) else super().loop(node, threads)

    def iterations(self, node: Loop, threads: Evaluator) -> Iterable[Evaluator]:
        facts = self.values.loops.get(node.point)
        counted = None if facts is None else iterations_of(facts, threads)
        ends = () if counted is None else (counted.first(), counted.last())
        return [each for each in ends if each is not None]


def _leaves(node: Node) -> bool:
    return any(isinstance(each, Jump) for inner in bodies(node) for each in walk(inner))
