"""TVM's MergeSharedMemoryAllocations: a free region is reused whole, the one that fits best first."""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from dataclasses import field

from smem_lsp.allocation.declared import declared
from smem_lsp.allocation.plan import Item, Plan, align_up
from smem_lsp.allocation.resolve_overlaps import Lives, resolve_overlaps
from smem_lsp.analysis.dataflow.conflicts import Conflicts
from smem_lsp.ir.nodes import Access, Assignment, BarrierSite, Branch, Loop, Node, Seq, walk
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass

LARGER = 16  # a buffer does not take a region more than this many times its size
SMALL = 4  # bytes: a buffer up to this size keeps a region of its own


def best_fit(items: Sequence[Item], body: Seq, conflicts: Conflicts, outline: Seq | None = None) -> Plan:
    """The layout in bytes; it may be larger than declared. ``outline``: that of
    ``body``, if it has been made already.

    A buffer lives from the first to the last statement of the kernel's body that touches it; a loop or branch is
    one statement. TVM inserts the barriers that this needs; here none is added, so where two buffers share bytes
    against ``conflicts`` a life is extended (``resolve_overlaps``). Without conflicts the layout is TVM's
    (src/tir/transforms/merge_shared_memory_allocations.cc), but for two things: a region starts at the alignment
    of all its buffers, and a buffer that TVM gives no place gets one of its own.
    """
    statements = _statements(body)
    lives: Lives = {}
    touched: list[list[int]] = []
    kept = {node.point: node for node in outline or body}
    for number, nodes in enumerate(statements):
        checkpoint()
        inside = walk(Seq(tuple(kept[node.point] for node in nodes if node.point in kept)))
        seen = dict.fromkeys(node.buffer for node in inside if isinstance(node, Access))
        touched.append(list(seen))
        for buffer in seen:
            lives[buffer] = (lives.get(buffer, (number, number))[0], number)
    composite = [any(isinstance(node, (Loop, Branch)) for node in nodes) for nodes in statements]
    lives = {item.index: lives.get(item.index, (len(statements), len(statements))) for item in items}
    offsets = resolve_overlaps(
        items, lives, conflicts, len(statements), lambda found: _place(items, found, touched, composite)
    )
    if offsets is None:
        plan = declared(items)
        return Plan("best_fit", plan.bytes, plan.offsets)
    return Plan("best_fit", max((offsets[item.index] + item.size for item in items), default=0), offsets)


def _statements(body: Seq) -> list[list[Node]]:
    """The nodes of ``body`` between two places where a barrier could stand, without assignments."""
    out: list[list[Node]] = [[]]
    for node in body:
        if isinstance(node, BarrierSite):
            if out[-1]:
                out.append([])
        elif not isinstance(node, Assignment):
            out[-1].append(node)
    return out if out[-1] else out[:-1]


@dataclass(slots=True)
class _Layers:
    """``layers``: buffers that lie beside each other, one layer on top of the other in time."""

    bytes: int
    layers: list[list[Item]] = field(default_factory=list)


@dataclass(slots=True)
class _Memory:
    """``free``: by rising bytes, among equals in the order they were freed; ``kept``: regions never given back."""

    free: list[_Layers] = field(default_factory=list)
    kept: list[_Layers] = field(default_factory=list)
    held: dict[int, _Layers] = field(default_factory=dict)  # buffer -> the region it lives in

    def allocate(self, item: Item) -> None:
        checkpoint()
        if item.size <= SMALL:
            self.kept.append(_Layers(item.size, [[item]]))
            return
        larger = next((region for region in self.free if region.bytes >= item.size), None)
        if larger is not None and larger.bytes <= LARGER * item.size:
            self.free.remove(larger)
            larger.layers.append([item])
            self.held[item.index] = larger
            return
        merged = _Layers(0)
        for region in [region for region in reversed(self.free) if region.bytes < item.size]:
            self.free.remove(region)
            merged.bytes += region.bytes
            merged.layers += [[] for _ in range(len(region.layers) - len(merged.layers))]
            for layer, members in zip(merged.layers, region.layers, strict=False):
                layer += members
            if merged.bytes >= item.size:
                break
        merged.bytes = max(merged.bytes, item.size)
        merged.layers.append([item])
        self.held[item.index] = merged

    def release(self, item: Item) -> None:
        region = self.held.get(item.index)
        if region is not None:
            insort(self.free, region, key=lambda each: each.bytes)


def _place(
    items: Sequence[Item], lives: Lives, touched: Sequence[Sequence[int]], composite: Sequence[bool]
) -> dict[int, int]:
    arriving: list[list[Item]] = [[] for _ in range(len(touched) + 1)]
    leaving: list[list[Item]] = [[] for _ in range(len(touched) + 1)]
    for item in items:
        arriving[lives[item.index][0]].append(item)
        leaving[lives[item.index][1]].append(item)
    memory = _Memory()
    for number, buffers in enumerate((*touched, ())):
        checkpoint()
        order = {buffer: place for place, buffer in enumerate(buffers)}
        for group in (arriving[number], leaving[number]):
            group.sort(key=lambda item: order.get(item.index, len(order)))
        # The last use of one buffer and the first of another in a plain statement: the second may reuse the first.
        plain = number < len(composite) and not composite[number]
        early = [item for item in leaving[number] if plain and lives[item.index][0] < number]
        for item in early:
            memory.release(item)
        for item in arriving[number]:
            memory.allocate(item)
        for item in leaving[number]:
            if item not in early:
                memory.release(item)
    return _offsets([*memory.free, *memory.kept])


def _offsets(regions: Sequence[_Layers]) -> dict[int, int]:
    """Regions one after the other; the buffers of the same layer number are all aligned alike."""
    align: list[int] = []
    for region in regions:
        checkpoint()
        align += [1] * (len(region.layers) - len(align))
        for number, layer in enumerate(region.layers):
            align[number] = max([align[number], *(item.align for item in layer)])
    offsets: dict[int, int] = {}
    end = 0
    for region in regions:
        start = align_up(end, max(align[: len(region.layers)]))
        for number, layer in enumerate(region.layers):
            inside = start
            for item in layer:
                offsets[item.index] = align_up(inside, align[number])
                inside = offsets[item.index] + item.size
            end = max(end, inside)
    return offsets
