"""Layouts of the parts of static buffers, as if each were a buffer of its own: of the members of classes, and of the
purposes of bytes that several names share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from smem_lsp.allocation.declared import declared
from smem_lsp.allocation.layouts import Task, best_layouts, task
from smem_lsp.allocation.plan import Item, Plan, align_up
from smem_lsp.analysis.dataflow.facts import Facts
from smem_lsp.analysis.dataflow.interference import interference, relate
from smem_lsp.analysis.dataflow.liveness import LiveBefore, LivenessRecord
from smem_lsp.analysis.storage.class_members import split, storages
from smem_lsp.analysis.storage.dynamic_ranges import Partition
from smem_lsp.analysis.storage.purposes import (
    joined,
    names_of,
    overlapping,
    partition,
    pointers_of,
    take_turns,
)
from smem_lsp.analysis.threads.prove import prove
from smem_lsp.analysis.threads.uniformity import Control
from smem_lsp.analysis.values.block_shape import BlockShape
from smem_lsp.analysis.values.symbolic_execution import propagate
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.facts.layouts import LayoutCandidate
from smem_lsp.facts.partition import PartitionLayouts
from smem_lsp.facts.refills import of_parts
from smem_lsp.ir.nodes import Buffer, BufferAlias, Kernel
from smem_lsp.source import checkpoint


def partition_classes(
    kernel: Kernel,
    control: Control,
    values: ValueFacts,
    shape: BlockShape | None,
    items: Sequence[Item],
    natural: Plan,
) -> tuple[PartitionLayouts, ...]:
    """One plan for each buffer in static shared memory that falls into parts: these move, all other buffers stay.
    ``items``: the kernel's buffers, laid out as ``natural`` says. Only what is a fact about the block counts."""
    fact = shape if shape is not None and shape.fact else None
    found: list[PartitionLayouts] = []
    storing = {buffer.index for buffer in storages(kernel)}
    names = names_of(kernel)
    for buffer in kernel.buffers:
        checkpoint()
        if buffer.index not in natural.offsets:
            continue
        partition = _purposes(kernel, control, values, shape, buffer, names.get(buffer.index, {}))
        if partition is None and buffer.index in storing:
            partition = split(kernel, values, shape, buffer)
        if partition is None or sum(not each.stays for each in partition.ranges) < 2:
            continue
        made = tuple(Item(each.index, each.name, each.size, each.align) for each in partition.ranges)
        others = [item for item in items if item.index != buffer.index]
        start = natural.offsets[buffer.index]
        offsets = {item.index: natural.offsets[item.index] for item in others}
        applied, again = _applied(kernel, values, partition)
        facts = prove(applied, control, fact, again)
        fixed = {item.index for item in others} | {each.index for each in partition.ranges if each.stays}
        known = interference(applied.body, facts, frozenset(fixed))
        facts, known = of_parts(applied, again, control, facts, frozenset(fixed), known, fact)
        of = task(made, applied.body, facts, frozenset(fixed), known)
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
                filled=_filled(applied, partition, prove(applied, control, shape, again)),
            )
        )
    return tuple(found)


def purposes_of_pointers(
    kernel: Kernel, control: Control, values: ValueFacts, shape: BlockShape | None, whole: Partition
) -> PartitionLayouts | None:
    """The purposes that take turns in the bytes of dynamic shared memory, by the pointers that accesses go through;
    None: no two pointers have bytes in common. ``whole``: what each access reaches."""
    fact = shape if shape is not None and shape.fact else None
    buffer = kernel.buffers[whole.base]
    named = pointers_of(kernel, buffer, whole.reached)
    divided = _purposes(kernel, control, values, shape, buffer, named)
    if divided is None:
        return None
    divided = replace(divided, reached=whole.reached)
    ranges = divided.ranges
    items = tuple(Item(each.index, each.name, each.size, each.align) for each in ranges)
    declared = Plan("declared", divided.bytes, {each.index: each.offset for each in ranges})
    applied, again = _applied(kernel, values, divided)
    lives = interference(applied.body, prove(applied, control, fact, again), frozenset()).liveness.lives
    return PartitionLayouts(
        partition=divided,
        items=items,
        declared=declared,
        best=(),
        lives={index: (life.first, life.last) for index, life in lives.items()},
        filled=_filled(applied, divided, prove(applied, control, shape, again)),
    )


def _filled(applied: Kernel, partition: Partition, facts: Facts) -> frozenset[int]:
    """The parts of which every element is written before one is read."""
    unfilled = LiveBefore(LivenessRecord(facts)).seq(applied.body.items, 0, 0, 0)
    return frozenset(each.index for each in partition.ranges if not unfilled >> each.index & 1)


def _purposes(
    kernel: Kernel,
    control: Control,
    values: ValueFacts,
    shape: BlockShape | None,
    buffer: Buffer,
    named: Mapping[int, BufferAlias],
) -> Partition | None:
    """The purposes that take turns in the bytes of a buffer; None where it has but one. What holds for every block
    counts first, then what holds in ``shape``, which may be no fact, or where a block fills all that it reads."""
    fact = shape if shape is not None and shape.fact else None
    known = _purposes_in(kernel, control, values, fact, buffer, named, filling=False)
    if known is not None or fact is not None or not overlapping(named):
        return known
    found = _purposes_in(kernel, control, values, shape, buffer, named, filling=shape is None)
    return None if found is None else replace(found, shaped=True)


def _purposes_in(
    kernel: Kernel,
    control: Control,
    values: ValueFacts,
    shape: BlockShape | None,
    buffer: Buffer,
    named: Mapping[int, BufferAlias],
    *,
    filling: bool,
) -> Partition | None:
    groups = overlapping(named)
    while take_turns(groups):
        checkpoint()
        found = partition(kernel, buffer, named, groups)
        if found is None:
            return None
        applied, again = _applied(kernel, values, found)
        facts = prove(applied, control, shape, again)
        known = interference(applied.body, facts, frozenset())
        _, known = of_parts(
            applied, again, control, facts, frozenset(), known, shape, () if filling else None
        )
        lives = known.liveness
        left = joined(groups, len(kernel.buffers), frozenset(lives.apart), lives.reads_before_write)
        if len(left) == len(groups):
            return found
        groups = left
    return None


def _applied(kernel: Kernel, values: ValueFacts, partition: Partition) -> tuple[Kernel, ValueFacts]:
    """The kernel with the parts as buffers of their own, and what is known of its values."""
    applied, table = partition.applied(kernel), values.table
    return applied, propagate(
        applied.body, memory=kernel.memory, rows=table.rows, warp_sizes=table.warp_sizes
    )


def _best(of: Task, items: Sequence[Item], buffer: Buffer) -> tuple[LayoutCandidate, ...]:
    """The curve of plans; bytes fall strictly."""
    found: list[LayoutCandidate] = []
    for made in best_layouts(of):
        plan = _placed(made, items, buffer)
        if not found or plan.bytes < found[-1].plan.bytes:
            found.append(LayoutCandidate(plan, relate(of.found, frozenset(plan.barriers)), of.facts))
    return tuple(found)


def _placed(plan: Plan, items: Sequence[Item], buffer: Buffer) -> Plan:
    """A layout of the members of a buffer, as one of the kernel: the class is as large as C++ makes it."""
    size = align_up(plan.bytes, max((member.align for member in buffer.members), default=1))
    whole = declared([replace(item, size=size) if item.index == buffer.index else item for item in items])
    start = whole.offsets[buffer.index]
    others = {item.index: whole.offsets[item.index] for item in items if item.index != buffer.index}
    return replace(
        plan,
        bytes=whole.bytes,
        lower_bound=whole.bytes if plan.optimal else plan.lower_bound,
        offsets=others | {index: start + offset for index, offset in plan.offsets.items()},
    )
