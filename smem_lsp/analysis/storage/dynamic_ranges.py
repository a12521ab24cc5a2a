"""Ranges that pointers carve out of dynamic shared memory: ``float* a = smem; float* b = a + N;``.

A range begins where a pointer with a constant offset points, and ends where the next one begins. Ranges count only if
every access to dynamic shared memory surely stays in one of them, for the launched block; ranges that one access spans
are merged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

from smem_lsp.analysis.storage.member_ranges import Reach
from smem_lsp.analysis.values.block_shape import BlockShape
from smem_lsp.analysis.values.extents import Extent, extent_of
from smem_lsp.analysis.values.pointer_ranges import named_pointers
from smem_lsp.analysis.values.ranges import Bounds
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import (
    Access,
    AddressSpace,
    Branch,
    Buffer,
    Kernel,
    Loop,
    Node,
    Seq,
    StorageMember,
    walk,
)
from smem_lsp.ir.values import Const, Operator, Value, operation
from smem_lsp.source import checkpoint

_WIDEST = 16  # bytes of an access


@dataclass(frozen=True, slots=True)
class Range:
    """Bytes ``offset`` to ``offset + size`` of a buffer. ``index``: of the buffer that stands for it; ``element``:
    bytes of each access to it, None: they differ; ``stays``: it never shares bytes."""

    index: int
    name: str
    offset: int
    size: int
    align: int
    element: int | None = None
    stays: bool = False
    members: tuple[StorageMember, ...] = ()


@dataclass(frozen=True, slots=True)
class Partition:
    """``base``: the buffer that the ranges are in; ``of``: access (its point) -> range (its index); ``shaped``: this
    rests on the shape of the block; ``reached``: the bytes that an access to dynamic memory may touch."""

    base: int
    ranges: tuple[Range, ...]
    of: Mapping[int, int]
    shaped: bool = False
    reached: Mapping[int, Extent] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        """Bytes that the ranges take in the present layout."""
        return max(each.offset + each.size for each in self.ranges)

    def applied(self, kernel: Kernel) -> Kernel:
        """``kernel`` with the ranges as buffers behind its own; accesses to the array become accesses to its
        ranges."""
        base = kernel.buffers[self.base]
        size = self.bytes if base.bytes is None else base.bytes
        own = (replace(each, bytes=size, fixed=None) if each is base else each for each in kernel.buffers)
        made = (_buffer(base, each) for each in self.ranges)
        ranges = {each.index: each for each in self.ranges}
        to = {point: ranges[index] for point, index in self.of.items()}
        return replace(kernel, buffers=(*own, *made), body=_retargeted(kernel.body, to))


def partition_of(kernel: Kernel, values: ValueFacts, shape: BlockShape | None) -> Partition | None:
    """The ranges of a kernel; None if an access may leave its range."""
    dynamic = _in_sight(kernel)
    if not dynamic:
        return None
    accesses = [node for node in walk(kernel.body) if isinstance(node, Access) and node.buffer in dynamic]
    found = _reached(kernel, values, shape, accesses, dynamic)
    if found is None:
        return None
    reached, shaped = found
    names = named_pointers(kernel, accesses)
    names.setdefault(0, dynamic[min(dynamic)].name)
    members = [member for buffer in dynamic.values() for member in buffer.members]
    names.update((member.offset, member.path) for member in reversed(members))
    touched = [*reached.values(), *((member.offset, member.offset + member.size) for member in members)]
    ranges: list[Range] = []
    of: dict[int, int] = {}
    for index, (low, high) in enumerate(_parts(sorted(names), touched), len(kernel.buffers)):
        checkpoint()
        inside = [access for access in accesses if low <= reached[access.point][0] < high]
        of_class = tuple(member for member in members if low <= member.offset < high)
        end = max(stop for start, stop in touched if low <= start < high)
        of.update(dict.fromkeys((access.point for access in inside), index))
        ranges.append(
            Range(
                index,
                names[low],
                low,
                end - low,
                _alignment(kernel, dynamic.values(), inside, of_class),
                stays=not (inside and _may_move(dynamic.values(), of_class, low, end)),
                members=of_class,
            )
        )
    return Partition(min(dynamic), tuple(ranges), of, shaped, reached) if ranges else None


def _in_sight(kernel: Kernel) -> dict[int, Buffer]:
    """The buffers in dynamic shared memory; empty unless all their uses are known."""
    dynamic = {buffer.index: buffer for buffer in kernel.buffers if buffer.space is AddressSpace.DYNAMIC}
    if kernel.irregular is not None or kernel.unknown_accesses or kernel.opaque:
        return {}  # a called function may declare the same array
    kept = [each.within for buffer in dynamic.values() for each in buffer.kept]
    known = bool(kept) or all(buffer.seen for buffer in dynamic.values())
    return dynamic if known and None not in kept else {}


def _reached(
    kernel: Kernel,
    values: ValueFacts,
    shape: BlockShape | None,
    accesses: Iterable[Access],
    dynamic: Mapping[int, Buffer],
) -> tuple[dict[int, Extent], bool] | None:
    """(bytes that each access (its point) may touch, whether this depends on the shape of the block); None if one may
    touch any byte."""
    kept = [each.within for buffer in dynamic.values() for each in buffer.kept]
    named = Reach(kernel, values, shape)
    bounds = None if shape is None else Bounds(values.loops, shape.dims, exact=True)
    reached: dict[int, Extent] = {}
    shaped = False
    for access in accesses:
        extent = kept[0] if access.strayed and kept else named.of(access)
        if extent is None and bounds is not None:
            extent, shaped = extent_of(kernel, values, bounds, access), True
        if extent is None or extent[0] < 0:
            return None
        reached[access.point] = extent
    return reached, shaped


def _alignment(
    kernel: Kernel, dynamic: Iterable[Buffer], inside: Iterable[Access], members: Iterable[StorageMember]
) -> int:
    """Alignment in bytes that the accesses to a range and the members in it need."""
    widths = (access.width or kernel.buffers[access.buffer].element_bytes or 1 for access in inside)
    return max(
        *(buffer.required_align for buffer in dynamic),
        *(min(width & -width, _WIDEST) for width in widths),
        *(member.align for member in members),
        1,
    )


def _may_move(dynamic: Iterable[Buffer], members: Iterable[StorageMember], low: int, end: int) -> bool:
    """Have these bytes no constructor and no stored address?"""
    kept = (each.within for buffer in dynamic for each in buffer.kept)
    return all(member.plain for member in members) and not any(
        part and part[0] < end and low < part[1] for part in kept
    )


def _buffer(base: Buffer, each: Range) -> Buffer:
    element = base.element_bytes if each.element is None else each.element
    count = each.size // element if element and each.size % element == 0 else None
    return replace(
        base,
        index=each.index,
        name=each.name,
        type=each.members[0].type if len(each.members) == 1 else base.type,
        dims=() if each.element == each.size else (count,),
        dims_text=(),
        element_bytes=element,
        bytes=each.size,
        align=each.align,
        fixed=_reason(base, each) if each.stays else None,
        required_align=each.align,
        members=(),
        kept=(),
    )


def _reason(base: Buffer, each: Range) -> str:
    """Why a range never shares bytes."""
    for kept in base.kept:
        if kept.within is None or (kept.within[0] < each.offset + each.size and each.offset < kept.within[1]):
            return kept.reason
    if not all(member.plain for member in each.members):
        return f"{each.name} has a constructor"
    return f"{each.name} is not accessed"


def _parts(bases: list[int], reached: Iterable[Extent]) -> Iterator[Extent]:
    """The accessed ranges between neighbouring bases, merged where an access spans several."""
    touched = list(reached)
    if not touched:
        return
    edges = [*bases, max(high for _, high in touched)]
    crossed = {edge for edge in edges[1:-1] if any(low < edge < high for low, high in touched)}
    kept = [edge for edge in edges if edge not in crossed]
    for low, high in pairwise(kept):
        checkpoint()
        if any(low <= start < high for start, _ in touched):
            yield low, high


def _retargeted(seq: Seq, of: Mapping[int, Range]) -> Seq:
    def moved(node: Node) -> Node:
        if isinstance(node, Access) and node.point in of:
            return _access(node, of[node.point])
        if isinstance(node, Branch):
            return replace(node, then=_retargeted(node.then, of), otherwise=_retargeted(node.otherwise, of))
        return replace(node, body=_retargeted(node.body, of)) if isinstance(node, Loop) else node

    return Seq(tuple(moved(node) for node in seq))


def _access(access: Access, to: Range) -> Access:
    """The same access to a range of the buffer."""
    index: tuple[Value, ...] | None = None
    if to.element is not None and access.offset is not None and access.part is None:
        start = operation(Operator.SUBTRACT, access.offset, Const(to.offset))
        index = () if to.element == to.size else (operation(Operator.DIVIDE, start, Const(to.element)),)
    return replace(access, buffer=to.index, index=index, offset=None)
