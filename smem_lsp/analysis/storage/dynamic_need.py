"""Which dynamic bytes a block of a given shape surely touches.

Only accesses in every run of the kernel count: guarded at most by conditions on the thread, the block's shape and
constants, in loops whose number of iterations is known.
"""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.analysis.values.evaluate import Evaluator, asks
from smem_lsp.analysis.values.trip_counts import iterations_of
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import Access, AddressSpace, Branch, Dims, Jump, Kernel, Loop, Seq, walk
from smem_lsp.source import checkpoint
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
    for access, threads in _sure(kernel.body, values, Evaluator(dims)):
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


def _sure(seq: Seq, values: ValueFacts, threads: Evaluator) -> Iterator[tuple[Access, Evaluator]]:
    """Accesses that surely run, with the threads that run them, up to the first jump."""
    for node in seq:
        checkpoint()
        if isinstance(node, Access):
            yield node, threads
        elif isinstance(node, Jump):
            return
        elif isinstance(node, Branch):
            taken = threads.values(values.conditions[node.point])
            if taken is not None:
                for arm, mask in ((node.then, taken), (node.otherwise, [int(not each) for each in taken])):
                    if any(mask):
                        yield from _sure(arm, values, threads.only(mask))
            if _leaves(node.then) or _leaves(node.otherwise):
                return
        elif isinstance(node, Loop):
            if _leaves(node.body):
                return
            facts = values.loops.get(node.point)
            counted = None if facts is None else iterations_of(facts, threads)
            for inside in () if counted is None else (counted.first(), counted.last()):
                if inside is not None:
                    yield from _sure(node.body, values, inside)


def _leaves(seq: Seq) -> bool:
    return any(isinstance(node, Jump) for node in walk(seq))
