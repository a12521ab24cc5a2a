"""Ranges that pointers carve out of dynamic shared memory: ``float* a = smem; float* b = a + N;``.

A range begins where a pointer with a constant offset points, or where the first byte lies that an access without a
pointer may touch, and ends where the next one begins. Ranges count only if every access to dynamic shared memory surely
stays in one of them, for all threads that the conditions around it let through; ranges that one access spans are
merged. The block need not be known; where it is, what intervals cannot tell is counted thread by thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from itertools import pairwise
from types import MappingProxyType

from smem_lsp.analysis.storage.descriptors import described
from smem_lsp.analysis.storage.implied_block import implied_block
from smem_lsp.analysis.storage.landings import landed, landings
from smem_lsp.analysis.storage.member_ranges import Reach
from smem_lsp.analysis.storage.passed_numbers import is_closed, passed_numbers, spelled_bounds
from smem_lsp.analysis.storage.ranges_in_terms import TermPartition, partition_in_terms
from smem_lsp.analysis.storage.refusals import reaching, unplaced, unseen
from smem_lsp.analysis.values.block_shape import BlockShape, most_threads
from smem_lsp.analysis.values.enumerated import touched
from smem_lsp.analysis.values.extents import Extent, extent_of
from smem_lsp.analysis.values.guards import Guarded, Guards, guards_of
from smem_lsp.analysis.values.pointer_ranges import named_pointers, uses_pointer
from smem_lsp.analysis.values.ranges import INFINITE, Bounds, Interval
from smem_lsp.analysis.values.terms import Term
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.ir.nodes import (
    FEWEST_LANDINGS,
    Access,
    AddressSpace,
    Branch,
    Buffer,
    Dims,
    Kernel,
    Loop,
    Name,
    Node,
    Seq,
    StorageMember,
    walk,
)
from smem_lsp.ir.values import Const, Operator, operation
from smem_lsp.source import checkpoint, listed
from smem_lsp.source.record import dataclass
from smem_lsp.targets.every import MAX_BLOCK, MOST_SHARED

_WIDEST = 16  # bytes of an access
_MOST = 64  # ranges that accesses without a pointer may begin


@dataclass(frozen=True, slots=True)
class Range:
    """Bytes ``offset`` to ``offset + size`` of a buffer. ``index``: of the buffer that stands for it; ``element``:
    bytes of the narrowest access to it, None: not known; ``stays``: it never shares bytes, ``why``: because of an
    access."""

    index: int
    name: str
    offset: int
    size: int
    align: int
    element: int | None = None
    stays: bool = False
    why: Cause | None = None
    members: tuple[StorageMember, ...] = ()
    names: tuple[Name, ...] = ()  # that accesses to it go by, the one to show first


@dataclass(frozen=True, slots=True)
class Partition:
    """``base``: the buffer that the ranges are in; ``of``: access (its point) -> range (its index); ``shaped``: this
    rests on a shape of the block that is no fact; ``most``: it rests on blocks with so many threads at most;
    ``reached``: the bytes that an access to dynamic memory may touch; ``copied``: the ranges that asynchronous copies
    are issued into; ``joined``: why pointers lead into one range; ``passed``: it rests on what the launches in sight
    pass, in words, where there may be others."""

    base: int
    ranges: tuple[Range, ...]
    of: Mapping[int, int]
    shaped: bool = False
    reached: Mapping[int, Extent] = field(default_factory=dict)
    copied: tuple[int, ...] = ()
    most: Dims | None = None
    passed: str = ""
    joined: tuple[Cause, ...] = ()

    @property
    def bytes(self) -> int:
        """Bytes that the ranges take in the present layout."""
        return max(each.offset + each.size for each in self.ranges)

    @property
    def assumes(self) -> str:
        """In words; empty: nothing, or a block that somebody names."""
        if self.most is None:
            return f"assumes {self.passed}" if self.passed else ""
        sizes = [
            f"{size} threads in {axis}"
            for axis, size, most in zip("xyz", self.most, MAX_BLOCK)
            if size < most
        ]
        return f"assumes blocks of at most {listed(sizes)}: no pointer has room for more"

    def applied(self, kernel: Kernel) -> Kernel:
        """``kernel`` with the ranges as buffers behind its own; accesses to the array become accesses to its
        ranges."""
        base = kernel.buffers[self.base]
        size = self.bytes if base.bytes is None else base.bytes
        called = f"{base.name} (bytes)" if any(each.name == base.name for each in self.ranges) else base.name
        whole = replace(base, name=called, bytes=size, fixed=None)
        own = (whole if each is base else each for each in kernel.buffers)
        made = (_buffer(base, each) for each in self.ranges)
        ranges = {each.index: each for each in self.ranges}
        to = {point: ranges[index] for point, index in self.of.items()}
        landing = landings(kernel.body, self.base, self.of) if self.copied else {}
        return replace(kernel, buffers=(*own, *made), body=_retargeted(kernel.body, to, landing, self.copied))


def partition_of(
    kernel: Kernel, values: ValueFacts, shape: BlockShape | None, most: Dims | None = None
) -> Partition | TermPartition | tuple[Cause, ...]:
    """The ranges of a kernel, in terms where nothing bounds an access, or why they are not known; no reason: it has no
    dynamic shared memory that it uses. ``most``: threads at most in x, y, z; None: no more than pointers have room for,
    where only that keeps ranges apart."""
    dynamic = {buffer.index: buffer for buffer in kernel.buffers if buffer.space is AddressSpace.DYNAMIC}
    refused = tuple(unseen(kernel, dynamic))
    if refused or not dynamic:
        return refused
    every = [node for node in walk(kernel.body) if isinstance(node, Access)]
    # what may run only perhaps, in one of several functions that a call may mean, touches these bytes or none
    accesses = [replace(node, guess=False) for node in every if node.buffer in dynamic and not landed(node)]
    names = named_pointers(kernel, accesses)
    every_block = most_threads(kernel) if most is None else most
    divided = partial(_divided, kernel, values, every=every, accesses=accesses, dynamic=dynamic)
    found = divided(shape, every_block, names=dict(names))
    if shape is None and most is None and not (isinstance(found, Partition) and len(found.ranges) > 1):
        most = implied_block(kernel, values, accesses)
        if most is not None:
            implied = divided(None, most, names=dict(names))
            if isinstance(implied, Partition) and len(implied.ranges) > 1:
                return replace(implied, shaped=True, most=most)
    if isinstance(found, Partition) or (isinstance(found, TermPartition) and not found.doubts):
        return found
    return _with_numbers(kernel, values, partial(divided, shape, every_block), names) or found


def _with_numbers(
    kernel: Kernel,
    values: ValueFacts,
    divided: Callable[..., Partition | TermPartition | tuple[Cause, ...]],
    names: Mapping[int, str],
) -> Partition | None:
    """The ranges with the numbers that launches pass, of which as few are taken for granted as will do."""
    numbers = dict(passed_numbers(kernel))

    def of(known: Mapping[str, Interval]) -> Partition | None:
        given = {values.table.sym(name): ends for name, ends in known.items()}
        found = divided(names=dict(names), given=given)
        return found if isinstance(found, Partition) and len(found.ranges) > 1 else None

    found = of(numbers) if numbers else None
    for name in list(numbers) if found is not None else ():
        fewer = {other: ends for other, ends in numbers.items() if other != name}
        without = of(fewer) if fewer else None
        if without is not None and without.ranges == (found and found.ranges):
            found, numbers = without, fewer
    if found is None or is_closed(kernel):
        return found
    return replace(found, shaped=True, passed=listed([spelled_bounds(*each) for each in numbers.items()]))


def _divided(
    kernel: Kernel,
    values: ValueFacts,
    shape: BlockShape | None,
    most: Dims,
    every: Sequence[Access],
    accesses: Sequence[Access],
    dynamic: Mapping[int, Buffer],
    names: dict[int, str],
    given: Mapping[Term, Interval] = MappingProxyType({}),
) -> Partition | TermPartition | tuple[Cause, ...]:
    """``most``: threads at most in x, y, z; ``every``: all accesses of the kernel, ``accesses`` those to the
    ``dynamic`` buffers; ``names``: of the pointers, by the byte where they begin; ``given``: what terms are."""
    reached, shaped, before, refused = _reached(kernel, values, shape, most, accesses, dynamic, names, given)
    if refused and before:
        return refused
    in_terms = partial(_in_terms, kernel, values, shape, most, accesses, dynamic, reached, given)
    if refused:
        found = in_terms()
        return found if isinstance(found, tuple) else replace(found, doubts=refused)
    whole = dynamic[min(dynamic)].name
    joined = tuple(_joined(kernel, accesses, reached, dict(names)))
    names.setdefault(0, whole)
    written = {reached[each.point][0] for each in accesses if not uses_pointer(kernel, each)} - names.keys()
    if len(written) <= _MOST:
        for offset in written:
            names[offset] = f"{whole}+{offset}"
    members = [member for buffer in dynamic.values() for member in buffer.members]
    names.update((member.offset, member.path) for member in reversed(members))
    spans = [*reached.values(), *((member.offset, member.offset + member.size) for member in members)]
    _join_unused(names, written, accesses, reached)
    ranges: list[Range] = []
    of: dict[int, int] = {}
    for index, (low, high) in enumerate(_parts(sorted(names), spans), len(kernel.buffers)):
        checkpoint()
        inside = [access for access in accesses if low <= reached[access.point][0] < high]
        of_class = tuple(member for member in members if low <= member.offset < high)
        end = max(stop for start, stop in spans if low <= start < high)
        why = next((each.keeps.about(names[low]) for each in inside if each.keeps is not None), None)
        of.update(dict.fromkeys((access.point for access in inside), index))
        ranges.append(
            Range(
                index,
                names[low],
                low,
                end - low,
                _alignment(kernel, dynamic.values(), inside, of_class),
                element=_element(kernel, inside, low, end - low),
                stays=why is not None or not (inside and _may_move(dynamic.values(), of_class, low, end)),
                why=why,
                members=of_class,
            )
        )
    issues = [node for node in every if node.asynchronous]
    copied = tuple(sorted({of[node.point] for node in issues if node.point in of}))
    if issues and any(node.buffer in dynamic for node in issues):
        alone = {node.buffer for node in issues} == {min(dynamic)}
        if not (
            copied and alone and len(copied) <= FEWEST_LANDINGS
        ):  # not each landing has a point of its own
            return (_landings(issues[0].line, copied),)
    if not ranges:
        return ()
    if len(ranges) == 1 and not joined:  # perhaps because it is not known where a pointer begins
        found = in_terms()
        joined = found if isinstance(found, tuple) else ()
    return Partition(min(dynamic), tuple(ranges), of, shaped, reached, copied, joined=joined)


def _in_terms(
    kernel: Kernel,
    values: ValueFacts,
    shape: BlockShape | None,
    most: Dims,
    accesses: Sequence[Access],
    dynamic: Mapping[int, Buffer],
    reached: Mapping[int, Extent],
    given: Mapping[Term, Interval],
) -> TermPartition | tuple[Cause, ...]:
    bounded = {point: each for point, each in reached.items() if each[0] >= 0 and each[1] < INFINITE}
    here = _here(values, shape, most, guards_of(kernel, values), given)
    return partition_in_terms(kernel, accesses, dynamic, bounded, described(values, here.at, accesses))


def _joined(
    kernel: Kernel, accesses: Sequence[Access], reached: Mapping[int, Extent], names: Mapping[int, str]
) -> Iterator[Cause]:
    """For each pointer that begins no range of its own the first access that reaches across its beginning."""
    for edge in sorted(names):
        across = (each for each in accesses if reached[each.point][0] < edge < reached[each.point][1])
        first = next(across, None)
        if first is not None:
            yield reaching(kernel, first, names[edge])


def _landings(line: int, copied: Sequence[int]) -> Cause:
    if len(copied) > FEWEST_LANDINGS:
        return Cause(CauseKind.LANDINGS, line, (str(len(copied)), str(FEWEST_LANDINGS)))
    return Cause(CauseKind.LANDINGS_OF_BOTH, line)


def _join_unused(
    names: dict[int, str], written: set[int], accesses: Sequence[Access], reached: Mapping[int, Extent]
) -> None:
    """Bytes that are only written or only read are no range of their own, but a part of what they lie beside: take away
    those of ``written`` in ``names`` that would begin or end one."""
    while True:
        checkpoint()
        for low, high in _parts(sorted(names), reached.values()):
            inside = [each.kind for each in accesses if low <= reached[each.point][0] < high]
            if any(kind.reads for kind in inside) and any(kind.writes for kind in inside):
                continue
            edge = low if low in written else high
            if edge in written and names.pop(edge, None) is not None:
                break
        else:
            return


def _reached(
    kernel: Kernel,
    values: ValueFacts,
    shape: BlockShape | None,
    most: Dims,
    accesses: Iterable[Access],
    dynamic: Mapping[int, Buffer],
    edges: Iterable[int],
    given: Mapping[Term, Interval],
) -> tuple[dict[int, Extent], bool, bool, tuple[Cause, ...]]:
    """(bytes that each access (its point) may touch, whether this depends on a shape of the block that is no fact,
    whether one surely touches bytes before the array, why some may touch any byte). ``edges``: where pointers start."""
    kept = [each.within for buffer in dynamic.values() for each in buffer.kept]
    kept = [] if None in kept else kept
    named = Reach(kernel, values, shape)
    guards = guards_of(kernel, values)
    every = _here(values, None, most, guards, given)
    here = every if shape is None else _here(values, shape, most, guards, given)
    reached: dict[int, Extent] = {}
    asked: set[int] = set()
    shaped = before = False
    for access in accesses:
        extent = kept[0] if access.strayed and kept else named.of(access)
        if extent is None:
            extent = extent_of(kernel, values, here.at(access), access)
            if shape is not None and not shape.fact:
                shaped = shaped or extent != extent_of(kernel, values, every.at(access), access)
        reached[access.point] = (-INFINITE, INFINITE) if extent is None else _within_a_block(extent)
        low, high = reached[access.point]
        doubtful = low < 0 or guards.get(access.point) or any(low < edge < high for edge in edges)
        if doubtful and access.within is None and not access.strayed:
            asked.add(access.point)
    if shape is not None and asked:
        for point, extent in touched(kernel, values, shape.dims, frozenset(asked)).items():
            low, high = reached[point]
            before = before or (extent is not None and extent[0] < 0)
            if extent is not None and low <= extent[0] and extent[1] <= high and extent != (low, high):
                reached[point] = extent
                shaped = shaped or not shape.fact
    refused = dict.fromkeys(
        unplaced(kernel, values, here.at(access), access, low if low > -INFINITE else None)
        for access in accesses
        for low, high in (reached[access.point],)
        if low < 0 or high >= INFINITE
    )
    before = before or any(-INFINITE < low < 0 and high <= 0 for low, high in reached.values())
    return reached, shaped, before, tuple(refused)


def _within_a_block(extent: Extent) -> Extent:
    """More bytes than a block can have are no extent: they come from a type, or from what the device allows at most."""
    low, high = extent
    return low, INFINITE if high > MOST_SHARED else high


def _here(
    values: ValueFacts,
    shape: BlockShape | None,
    most: Dims,
    guards: Mapping[int, Guards],
    given: Mapping[Term, Interval],
) -> Guarded:
    """What bounds the values at each access."""
    threads = most if shape is None else shape.dims
    return Guarded(Bounds(values.loops, threads, exact=shape is not None, given=given), guards)


def _element(kernel: Kernel, inside: Iterable[Access], low: int, size: int) -> int | None:
    """Bytes of an element: the narrowest access to a range, a power of two, if the others are a multiple of it."""
    widths = [
        access.width or kernel.buffers[access.buffer].element_bytes or 0
        for access in inside
        if access.length is None
    ]
    width = min(widths, default=0)
    if not width or width & (width - 1) or any(each % width for each in (low, size, *widths)):
        return None
    return width


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
        part is None or (part[0] < end and low < part[1]) for part in kept
    )


def _buffer(base: Buffer, each: Range) -> Buffer:
    element = base.element_bytes if each.element is None else each.element
    count = each.size // element if element and each.size % element == 0 else None
    kind = each.members[0].type if len(each.members) == 1 else base.type
    shown = tuple("?" if dim is None else str(dim) for dim in each.names[0].dims) if each.names else ()
    return replace(
        base,
        index=each.index,
        name=each.name,
        type=each.names[0].type if each.names else kind,
        dims=() if each.element == each.size else (count,),
        dims_text=shown,
        element_bytes=element,
        bytes=each.size,
        align=each.align,
        fixed=_reason(base, each) if each.stays else None,
        required_align=each.align,
        members=(),
        kept=(),
    )


def _reason(base: Buffer, each: Range) -> Cause:
    """Why a range never shares bytes."""
    if each.why is not None:
        return each.why
    for kept in base.kept:
        if kept.within is None or (kept.within[0] < each.offset + each.size and each.offset < kept.within[1]):
            return kept.reason
    if not all(member.plain for member in each.members):
        return Cause(CauseKind.CONSTRUCTED, names=(each.name,))
    return Cause(CauseKind.NOT_ACCESSED, names=(each.name,))


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


def _retargeted(
    seq: Seq, of: Mapping[int, Range], landing: Mapping[int, frozenset[int]], copied: Sequence[int]
) -> Seq:
    """``landing``: accesses that are one of each of several of the ``copied`` ranges."""
    moved: list[Node] = []
    for node in seq:
        if isinstance(node, Access) and node.point in landing:
            moved += (
                replace(node, point=node.point + number, buffer=index, within=None)
                for number, index in enumerate(copied)
                if index in landing[node.point]
            )
            continue
        if isinstance(node, Access) and node.point in of:
            node = _access(node, of[node.point])
        elif isinstance(node, Branch):
            then = _retargeted(node.then, of, landing, copied)
            node = replace(node, then=then, otherwise=_retargeted(node.otherwise, of, landing, copied))
        elif isinstance(node, Loop):
            body = _retargeted(node.body, of, landing, copied)
            tail = len(_retargeted(Seq(node.body.items[len(node.body) - node.tail :]), of, landing, copied))
            node = replace(node, body=body, tail=tail)
        moved.append(node)
    return Seq(tuple(moved))


def _access(access: Access, to: Range) -> Access:
    """The same access to a range of the buffer."""
    if access.start is not None:
        access = replace(access, start=operation(Operator.SUBTRACT, access.start, Const(to.offset)))
    if access.offset is None or access.part is not None:
        return replace(access, buffer=to.index, index=None, offset=None)
    start = operation(Operator.SUBTRACT, access.offset, Const(to.offset))
    whole = access.width in (None, to.element) and access.length is None
    if to.element is None or not whole:
        return replace(access, buffer=to.index, index=None, offset=start)
    index = () if to.element == to.size else (operation(Operator.DIVIDE, start, Const(to.element)),)
    return replace(access, buffer=to.index, index=index, offset=None)
