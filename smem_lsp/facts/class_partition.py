"""Layouts of the members of classes in static shared memory, as if each were a buffer of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from smem_lsp.allocation.declared import declared
from smem_lsp.allocation.layouts import Task, best_layouts, task
from smem_lsp.allocation.plan import Item, Plan, align_up
from smem_lsp.analysis.dataflow.interference import relate
from smem_lsp.analysis.storage.class_members import split, storages
from smem_lsp.analysis.threads.prove import prove
from smem_lsp.analysis.threads.uniformity import Control
from smem_lsp.analysis.values.block_shape import BlockShape
from smem_lsp.analysis.values.symbolic_execution import propagate
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.facts.layouts import Candidate
from smem_lsp.facts.partition import PartitionLayouts
from smem_lsp.ir.nodes import Buffer, Kernel
from smem_lsp.source import checkpoint


def partition_classes(
    kernel: Kernel,
    control: Control,
    values: ValueFacts,
    shape: BlockShape | None,
    items: Sequence[Item],
    natural: Plan,
) -> tuple[PartitionLayouts, ...]:
    """One plan for each class in static shared memory: its members move, all other buffers stay. ``items``: the
    kernel's buffers, laid out as ``natural`` says. Only what is a fact about the block counts."""
    fact = shape if shape is not None and shape.fact else None
    found: list[PartitionLayouts] = []
    for buffer in storages(kernel):
        checkpoint()
        partition = split(kernel, values, shape, buffer) if buffer.index in natural.offsets else None
        if partition is None or sum(not each.stays for each in partition.ranges) < 2:
            continue
        made = tuple(Item(each.index, each.name, each.size, each.align) for each in partition.ranges)
        others = [item for item in items if item.index != buffer.index]
        start = natural.offsets[buffer.index]
        offsets = {item.index: natural.offsets[item.index] for item in others}
        applied = partition.applied(kernel)
        again = propagate(
            applied.body, memory=kernel.memory, rows=values.table.rows, warp_sizes=values.table.warp_sizes
        )
        facts = prove(applied, control, fact, again)
        fixed = {item.index for item in others} | {each.index for each in partition.ranges if each.stays}
        of = task(made, applied.body, facts, frozenset(fixed))
        found.append(
            PartitionLayouts(
                partition=partition,
                items=(*others, *made),
                declared=replace(
                    natural,
                    offsets=offsets | {each.index: start + each.offset for each in partition.ranges},
                ),
                best=_best(of, items, buffer),
                lives={index: (life.first, life.last) for index, life in of.found.liveness.lives.items()},
            )
        )
    return tuple(found)


def _best(of: Task, items: Sequence[Item], buffer: Buffer) -> tuple[Candidate, ...]:
    """The curve of plans; bytes fall strictly."""
    found: list[Candidate] = []
    for made in best_layouts(of):
        plan = _placed(made, items, buffer)
        if not found or plan.bytes < found[-1].plan.bytes:
            found.append(Candidate(plan, relate(of.found, frozenset(plan.barriers)), of.facts))
    return tuple(found)


def _placed(plan: Plan, items: Sequence[Item], buffer: Buffer) -> Plan:
    """A layout of the members of a buffer, as one of the kernel: the class is as large as C++ makes it."""
    size = align_up(plan.bytes, max(member.align for member in buffer.members))
    whole = declared([replace(item, size=size) if item.index == buffer.index else item for item in items])
    start = whole.offsets[buffer.index]
    others = {item.index: whole.offsets[item.index] for item in items if item.index != buffer.index}
    return replace(
        plan,
        bytes=whole.bytes,
        lower_bound=whole.bytes if plan.optimal else plan.lower_bound,
        offsets=others | {index: start + offset for index, offset in plan.offsets.items()},
    )
