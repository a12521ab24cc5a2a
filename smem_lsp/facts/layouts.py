"""Layouts of the buffers of a kernel: which buffers there are to lay out, and the curve of plans."""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.allocation.layouts import Task, best_layouts
from smem_lsp.allocation.plan import Item, Plan
from smem_lsp.analysis.dataflow.conflicts import Conflicts
from smem_lsp.analysis.dataflow.facts import Facts
from smem_lsp.analysis.dataflow.interference import relate
from smem_lsp.ir.nodes import Access, AddressSpace, Buffer, Kernel, walk
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass

# Under this many bytes, and without a step in occupancy, a plan is not worth a diagnostic (hover only).
WORTH_SAYING = 128


@dataclass(frozen=True, slots=True)
class LayoutCandidate:
    """A plan with what it rests on. ``assumes_shape``: it is proved only for the block shape of the launch in sight
    or of the settings, which is no fact, or for the blocks (``fills``) that write all that they read of a tile, of
    which the kernel does not say that every block does."""

    plan: Plan
    conflicts: Conflicts
    facts: Facts
    assumes_shape: bool = False
    fills: bool = False


@dataclass(frozen=True, slots=True)
class Layouts:
    """``declared``: as ptxas lays ``items`` out, None where a size is not known; ``best``: rising added barriers."""

    items: tuple[Item, ...]
    declared: Plan | None
    best: tuple[LayoutCandidate, ...]


def curve_of(task: Task, *, assumes_shape: bool = False, fills: bool = False) -> tuple[LayoutCandidate, ...]:
    """The best plan for each number of added barriers, under one set of facts."""
    return tuple(
        LayoutCandidate(
            plan, relate(task.found, frozenset(plan.barriers)), task.facts, assumes_shape or fills, fills
        )
        for plan in best_layouts(task)
    )


def joined(
    proved: tuple[LayoutCandidate, ...], assumed: tuple[LayoutCandidate, ...]
) -> tuple[LayoutCandidate, ...]:
    """For each number of barriers the smaller plan; the proved one where both are equal. Bytes fall strictly."""
    counts = sorted({len(c.plan.barriers) for c in (*proved, *assumed)})
    merged: list[LayoutCandidate] = []
    for count in counts:
        checkpoint()
        choices = [c for c in (*proved, *assumed) if len(c.plan.barriers) == count]
        chosen = min(choices, key=lambda c: (c.plan.bytes, c.assumes_shape))
        if not merged or chosen.plan.bytes < merged[-1].plan.bytes:
            merged.append(chosen)
    return tuple(merged)


def sharing(items: Sequence[Item], plan: Plan) -> list[list[int]]:
    """The buffers of a plan in groups that have bytes in common."""
    groups: list[list[int]] = []
    end = 0
    for item in sorted(items, key=lambda each: plan.offsets[each.index]):
        if groups and plan.offsets[item.index] < end:
            groups[-1].append(item.index)
        else:
            groups.append([item.index])
        end = max(end, plan.offsets[item.index] + item.size)
    return groups


def kept_buffers(kernel: Kernel) -> list[Buffer]:
    """Static buffers that ptxas keeps, in the order in which it lays them out: it drops those that nobody reads, unless
    a write is an effect of its own."""
    read: set[int] = set()
    written: set[int] = set()
    for node in walk(kernel.body):
        if isinstance(node, Access):
            (read if node.kind.reads else written).add(node.buffer)
    kept: list[Buffer] = []
    for buffer in kernel.buffers:
        pinned = buffer.fixed is not None or (buffer.stays and buffer.index in written)
        if buffer.space is AddressSpace.STATIC and (buffer.index in read or pinned):
            kept.append(buffer)
    return sorted(kept, key=lambda buffer: (buffer.group, buffer.declared, buffer.index))


def items_of(buffers: Sequence[Buffer]) -> tuple[Item, ...] | None:
    """Buffers to lay out; None when a size or alignment is not known."""
    items: list[Item] = []
    for buffer in buffers:
        if buffer.bytes is None or buffer.align is None:
            return None
        items.append(Item(buffer.index, buffer.name, buffer.bytes, max(buffer.align, buffer.required_align)))
    return tuple(items)


def pinned_buffers(kernel: Kernel, kept: Sequence[Buffer]) -> frozenset[int]:
    """Buffers that never share; all of ``kept`` where the flow of control is not known."""
    if kernel.irregular is not None:
        return frozenset(buffer.index for buffer in kept)
    return frozenset(buffer.index for buffer in kernel.buffers if buffer.fixed is not None)
