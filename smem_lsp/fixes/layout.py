"""What a rewrite of one group of merged buffers amounts to, and the bytes of the whole kernel after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from smem_lsp.allocation.plan import Item, Plan, align_up
from smem_lsp.analysis.dataflow.conflicts import Pairs
from smem_lsp.ir.nodes import Buffer
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.source import TextEdit
from smem_lsp.source.record import dataclass

WIDEST_ACCESS = 16  # bytes: 128-bit loads, stores, ldmatrix rows and asynchronous copies


@dataclass(frozen=True, slots=True)
class SharingGroup:
    """Buffers that share bytes, in source order. ``apart``: pairs that may not overlap at all."""

    buffers: tuple[Buffer, ...]
    items: dict[int, Item]
    apart: Pairs
    equal: Pairs
    offsets: dict[int, int]  # of the plan, relative to the lowest of the group

    def item(self, buffer: Buffer) -> Item:
        return self.items[buffer.index]

    def conflict(self, a: Buffer, b: Buffer) -> bool:
        return frozenset((a.index, b.index)) in self.apart

    def same_offset_only(self, a: Buffer, b: Buffer) -> bool:
        return frozenset((a.index, b.index)) in self.equal


Measures = Mapping[int, Item]  # buffer -> bytes and alignment of its type in some instance of a template
Laid = tuple[dict[int, int], int, int]  # offset of each buffer in a shared object, its size and alignment


@dataclass(frozen=True, slots=True)
class GroupRewrite:
    """One shared object that replaces a group. ``inner``: offset of each buffer in it, in bytes; ``measured``: from
    the sizes of the buffers in another instance to the offsets, size and alignment there."""

    anchor: int  # offset in the text of its declaration: its place in the declaration order
    size: int
    align: int
    inner: dict[int, int]
    edits: tuple[TextEdit, ...]
    measured: Callable[[Measures], Laid]


def layout_after(
    items: Sequence[Item], positions: dict[int, int], aligns: dict[int, int], rewrites: Sequence[GroupRewrite]
) -> Plan:
    """The layout that ptxas gives the rewritten kernel: objects in declaration order, naturally aligned.

    ``positions``: offset of each buffer's declaration in the text; ``aligns``: declared alignment.
    """
    merged = {index for rewrite in rewrites for index in rewrite.inner}
    objects: list[tuple[int, int, int, dict[int, int]]] = [
        (positions[item.index], item.size, aligns[item.index], {item.index: 0})
        for item in items
        if item.index not in merged
    ]
    objects += [(rewrite.anchor, rewrite.size, rewrite.align, rewrite.inner) for rewrite in rewrites]
    offsets: dict[int, int] = {}
    end = 0
    for _, size, align, inner in sorted(objects, key=lambda o: o[0]):
        start = align_up(end, align)
        offsets.update({index: start + offset for index, offset in inner.items()})
        end = start + size
    return Plan("rewrite", end, offsets)


def needed_alignment(facts: KernelFacts) -> dict[int, int]:
    """Bytes that each buffer's offset must be a multiple of.

    Where accesses are not followed (an address that escapes, an asynchronous copy) they may be as wide as the present
    offset allows: up to the 16 bytes of the widest access.
    """
    needed: dict[int, int] = {}
    for item in facts.items:
        align = item.align
        if facts.kernel.buffers[item.index].fixed is not None and facts.declared is not None:
            offset = facts.declared.offsets[item.index]
            align = max(align, min(WIDEST_ACCESS, offset & -offset if offset else WIDEST_ACCESS))
        needed[item.index] = align
    return needed
