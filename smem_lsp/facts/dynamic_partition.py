"""Layouts of the ranges that a kernel carves out of dynamic shared memory."""

from __future__ import annotations

from dataclasses import replace

from smem_lsp.allocation.layouts import best_layouts, task
from smem_lsp.allocation.plan import Item, Plan
from smem_lsp.analysis.dataflow.interference import relate
from smem_lsp.analysis.storage.dynamic_ranges import partition_of
from smem_lsp.analysis.threads.prove import prove
from smem_lsp.analysis.threads.uniformity import Control
from smem_lsp.analysis.values.block_shape import BlockShape
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.facts.layouts import Candidate
from smem_lsp.facts.partition import PartitionLayouts
from smem_lsp.ir.nodes import AddressSpace, Kernel


def partition_dynamic(
    kernel: Kernel, control: Control, values: ValueFacts, shape: BlockShape | None
) -> PartitionLayouts | None:
    """The ranges as buffers of their own, with their layouts; None where they are not known."""
    if any(buffer.space is AddressSpace.DYNAMIC for buffer in kernel.helper_bytes):
        return None
    found = partition_of(kernel, values, shape)
    if found is None:
        return None
    declared = Plan("declared", found.bytes, {each.index: each.offset for each in found.ranges})
    items = tuple(Item(each.index, each.name, each.size, each.align) for each in found.ranges)
    if len(items) < 2:
        return PartitionLayouts(found, items, declared, (), {})
    fact = shape if shape is not None and (found.shaped or shape.fact) else None
    assumed = fact is not None and not fact.fact
    stays = frozenset(each.index for each in found.ranges if each.stays)
    proved = prove(kernel, control, fact, values)
    facts = replace(proved, full=frozenset(), slots={}, covering={})  # these speak of the whole array
    of = task(items, found.applied(kernel).body, facts, stays)
    lives = of.found.liveness.lives
    return PartitionLayouts(
        partition=found,
        items=items,
        declared=declared,
        best=tuple(
            Candidate(plan, relate(of.found, frozenset(plan.barriers)), facts, assumed)
            for plan in best_layouts(of)
        ),
        lives={
            each.index: (lives[each.index].first, lives[each.index].last)
            for each in items
            if each.index in lives
        },
    )
