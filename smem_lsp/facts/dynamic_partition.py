"""Layouts of the ranges that a kernel carves out of dynamic shared memory."""

from __future__ import annotations

from smem_lsp.allocation.layouts import Task, task
from smem_lsp.allocation.plan import Item, Plan
from smem_lsp.analysis.dataflow.interference import Interference, interference
from smem_lsp.analysis.storage.dynamic_ranges import partition_of
from smem_lsp.analysis.storage.ranges_in_terms import TermPartition
from smem_lsp.analysis.threads.prove import prove
from smem_lsp.analysis.threads.uniformity import Control
from smem_lsp.analysis.values.block_shape import BlockShape
from smem_lsp.analysis.values.symbolic_execution import propagate
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.facts.layouts import LayoutCandidate, curve_of, joined
from smem_lsp.facts.partition import PartitionLayouts
from smem_lsp.facts.refills import of_parts
from smem_lsp.facts.terms import TermLayout, layout_in_terms
from smem_lsp.ir.causes import Cause
from smem_lsp.ir.nodes import Kernel

_Curve = tuple[LayoutCandidate, ...]


def partition_dynamic(
    kernel: Kernel, control: Control, values: ValueFacts, shape: BlockShape | None
) -> PartitionLayouts | TermLayout | tuple[Cause, ...]:
    """The ranges as buffers of their own, with their layouts, or why they are not known."""
    found = partition_of(kernel, values, shape)
    if isinstance(found, tuple):
        return found
    if isinstance(found, TermPartition):
        return layout_in_terms(found, kernel, control, values)
    declared = Plan("declared", found.bytes, {each.index: each.offset for each in found.ranges})
    items = tuple(Item(each.index, each.name, each.size, each.align) for each in found.ranges)
    if len(items) < 2:
        return PartitionLayouts(found, items, declared, (), {})
    stays = frozenset(each.index for each in found.ranges if each.stays)
    applied = found.applied(kernel)
    again = propagate(
        applied.body, memory=kernel.memory, rows=values.table.rows, warp_sizes=values.table.warp_sizes
    )

    def curve(
        of: BlockShape | None, like: Interference | None, *, assumed: bool, fills: bool = False
    ) -> tuple[Task, _Curve]:
        facts = prove(applied, control, of, again)
        known = interference(applied.body, facts, stays, like)
        facts, known = of_parts(applied, again, control, facts, stays, known, of, () if fills else None)
        planned = task(items, applied.body, facts, stays, known)
        return planned, curve_of(planned, assumes_shape=assumed, fills=fills)

    fact = shape if shape is not None and shape.fact else None
    planned, best = curve(fact, None, assumed=found.shaped)
    if shape is not None and fact is None:
        planned, more = curve(shape, planned.found, assumed=True)
        best = joined(best, more)
    elif shape is None and planned.found.liveness.apart:
        best = joined(best, curve(None, planned.found, assumed=True, fills=True)[1])
    lives = planned.found.liveness.lives
    return PartitionLayouts(
        partition=found,
        items=items,
        declared=declared,
        best=best,
        lives={
            each.index: (lives[each.index].first, lives[each.index].last)
            for each in items
            if each.index in lives
        },
    )
