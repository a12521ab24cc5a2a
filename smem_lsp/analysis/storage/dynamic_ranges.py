"""Ranges that pointers carve out of dynamic shared memory: ``float* a = smem; float* b = a + N;``.

A range begins where a pointer with a constant offset points, or where the first byte lies that an access without a
pointer may touch, and ends where the next one begins. Ranges count only if every access to dynamic shared memory surely
stays in one of them, for all threads that the conditions around it let through; ranges that one access spans are
merged. The block need not be known; where it is, what intervals cannot tell is counted thread by thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import pairwise

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
from smem_lsp.analysis.values.ranges import Bounds
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.ir.nodes import (
    FEWEST_LANDINGS,
    Access,
    AddressSpace,
    Buffer,
    BufferAlias,
    Dims,
    Kernel,
    Node,
    Seq,
    StorageMember,
    changed,
    walk,
)
from smem_lsp.ir.values import Const, operation
from smem_lsp.source import checkpoint, listed, record
from smem_lsp.source.record import dataclass
from smem_lsp.targets.every import MAX_BLOCK, MOST_SHARED
from smem_lsp.terms.intervals import INFINITE, Interval
from smem_lsp.terms.language import Term
from smem_lsp.terms.operators import Operator

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
    names: tuple[BufferAlias, ...] = ()  # that accesses to it go by, the one to show first


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
    issues = [node for node in every if node.asynchronous]
    case = _Case(kernel, values, issues, accesses, dynamic, names, shape, every_block)
    found = _divided(case)
    if shape is None and most is None and not (isinstance(found, Partition) and len(found.ranges) > 1):
        most = implied_block(kernel, values, accesses)
        if most is not None:
            implied = _divided(replace(case, most=most))
            if isinstance(implied, Partition) and len(implied.ranges) > 1:
                return replace(implied, shaped=True, most=most)
    if isinstance(found, Partition) or (isinstance(found, TermPartition) and not found.doubts):
        return found
    return _with_numbers(case) or found


@record
class _Case:
    """What is known of a kernel and of the blocks that run it. ``issues``: its accesses that are under way for a while;
    ``accesses``: those to the ``dynamic`` buffers; ``names``: of the pointers, by the byte where they begin; ``most``:
    threads at most in x, y, z; ``given``: what terms are."""

    kernel: Kernel
    values: ValueFacts
    issues: Sequence[Access]
    accesses: Sequence[Access]
    dynamic: Mapping[int, Buffer]
    names: Mapping[int, str]
    shape: BlockShape | None
    most: Dims
    given: Mapping[Term, Interval] = field(default_factory=dict)

    @property
    def base(self) -> int:
        """The buffer that ranges are in."""
        return min(self.dynamic)

    @property
    def members(self) -> Sequence[StorageMember]:
        return [member for buffer in self.dynamic.values() for member in buffer.members]

    def bounds(self, guards: Mapping[int, Guards], shape: BlockShape | None) -> Guarded:
        """What bounds the values at each access, in blocks of this shape."""
        threads = self.most if shape is None else shape.dims
        bounds = Bounds(self.values.loops, threads, exact=shape is not None, given=self.given)
        return Guarded(bounds, guards)


def _with_numbers(case: _Case) -> Partition | None:
    """The ranges with the numbers that launches pass, of which as few are taken for granted as will do."""
    numbers = dict(passed_numbers(case.kernel))

    def of(known: Mapping[str, Interval]) -> Partition | None:
        given = {case.values.table.sym(name): ends for name, ends in known.items()}
        found = _divided(replace(case, given=given))
        return found if isinstance(found, Partition) and len(found.ranges) > 1 else None

    found = of(numbers) if numbers else None
    for name in list(numbers) if found is not None else ():
        fewer = {other: ends for other, ends in numbers.items() if other != name}
        without = of(fewer) if fewer else None
        if without is not None and without.ranges == (found and found.ranges):
            found, numbers = without, fewer
    if found is None or is_closed(case.kernel):
        return found
    return replace(found, shaped=True, passed=listed([spelled_bounds(*each) for each in numbers.items()]))


def _divided(case: _Case) -> Partition | TermPartition | tuple[Cause, ...]:
    """The ranges in this case, or why they are not known."""
    reached = _reached(case)
    if reached.refused:
        if reached.before:
            return reached.refused
        in_terms = _in_terms(case, reached.extents)
        return in_terms if isinstance(in_terms, tuple) else replace(in_terms, doubts=reached.refused)
    joined = tuple(_joined(case.kernel, case.accesses, reached.extents, case.names))
    ranges, of = _carved(case, reached.extents)
    copied = tuple(sorted({of[node.point] for node in case.issues if node.point in of}))
    refused = _unknown_landing(case, copied)
    if refused is not None:
        return (refused,)
    if not ranges:
        return ()
    if len(ranges) == 1 and not joined:  # perhaps because it is not known where a pointer begins
        in_terms = _in_terms(case, reached.extents)
        joined = in_terms if isinstance(in_terms, tuple) else ()
    return Partition(case.base, ranges, of, reached.shaped, reached.extents, copied, joined=joined)


def _carved(case: _Case, reached: Mapping[int, Extent]) -> tuple[tuple[Range, ...], Mapping[int, int]]:
    """The ranges, and access (its point) -> range (its index)."""
    names, members = _beginnings(case, reached), case.members
    spans = [*reached.values(), *((member.offset, member.offset + member.size) for member in members)]
    ranges: list[Range] = []
    of: dict[int, int] = {}
    for index, (low, high) in enumerate(_parts(sorted(names), spans), len(case.kernel.buffers)):
        checkpoint()
        inside = [access for access in case.accesses if low <= reached[access.point][0] < high]
        of_class = tuple(member for member in members if low <= member.offset < high)
        end = max(stop for start, stop in spans if low <= start < high)
        of.update(dict.fromkeys((access.point for access in inside), index))
        ranges.append(_range(case, index, names[low], (low, end), inside, of_class))
    return tuple(ranges), of


def _range(
    case: _Case,
    index: int,
    name: str,
    extent: Extent,
    inside: Sequence[Access],
    members: tuple[StorageMember, ...],
) -> Range:
    """The range of these bytes. ``inside``: the accesses to it; ``members``: those that lie in it."""
    low, end = extent
    buffers = case.dynamic.values()
    why = next((each.keeps.about(name) for each in inside if each.keeps is not None), None)
    return Range(
        index,
        name,
        low,
        end - low,
        _alignment(case.kernel, buffers, inside, members),
        element=_element(case.kernel, inside, low, end - low),
        stays=why is not None or not (inside and _may_move(buffers, members, low, end)),
        why=why,
        members=members,
    )


def _beginnings(case: _Case, reached: Mapping[int, Extent]) -> dict[int, str]:
    """The bytes where ranges begin, each with the name of what begins there: a pointer, what an access without a
    pointer touches, or a member."""
    whole = case.dynamic[case.base].name
    names = dict(case.names)
    names.setdefault(0, whole)
    plain = (each for each in case.accesses if not uses_pointer(case.kernel, each))
    written = {reached[each.point][0] for each in plain} - names.keys()
    if len(written) <= _MOST:
        for offset in written:
            names[offset] = f"{whole}+{offset}"
    names.update((member.offset, member.path) for member in reversed(case.members))
    _join_unused(names, written, case.accesses, reached)
    return names


def _in_terms(case: _Case, reached: Mapping[int, Extent]) -> TermPartition | tuple[Cause, ...]:
    bounded = {point: each for point, each in reached.items() if each[0] >= 0 and each[1] < INFINITE}
    here = case.bounds(guards_of(case.kernel, case.values), case.shape)
    of_descriptors = described(case.values, here.at, case.accesses)
    return partition_in_terms(case.kernel, case.accesses, case.dynamic, bounded, of_descriptors)


def _joined(
    kernel: Kernel, accesses: Sequence[Access], reached: Mapping[int, Extent], names: Mapping[int, str]
) -> Iterator[Cause]:
    """For each pointer that begins no range of its own the first access that reaches across its beginning."""
    for edge in sorted(names):
        across = (each for each in accesses if reached[each.point][0] < edge < reached[each.point][1])
        first = next(across, None)
        if first is not None:
            yield reaching(kernel, first, names[edge])


def _unknown_landing(case: _Case, copied: Sequence[int]) -> Cause | None:
    """Why asynchronous copies cannot land at points of their own. ``copied``: the ranges that they are issued into."""
    issues = case.issues
    if not any(node.buffer in case.dynamic for node in issues):
        return None
    alone = {node.buffer for node in issues} == {case.base}
    if copied and alone and len(copied) <= FEWEST_LANDINGS:
        return None
    line = issues[0].line
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


@record
class _Reached:
    """``extents``: access (its point) -> bytes that it may touch; ``shaped``: this depends on a shape of the block that
    is no fact; ``before``: one surely touches bytes before the array; ``refused``: why some may touch any byte."""

    extents: Mapping[int, Extent]
    shaped: bool
    before: bool
    refused: tuple[Cause, ...]


def _reached(case: _Case) -> _Reached:
    """Which bytes each access may touch: by intervals, and thread by thread where these leave doubts."""
    search = _Extents(case)
    for access in case.accesses:
        search.bound(access)
    search.count_threads()
    before = search.before or any(-INFINITE < low < 0 and high <= 0 for low, high in search.of.values())
    refused = tuple(dict.fromkeys(search.refusals()))
    return _Reached(search.of, search.shaped, before, refused)


class _Extents:
    """Finds the bytes that accesses may touch. ``doubtful``: the accesses of which intervals may say too much."""

    def __init__(self, case: _Case) -> None:
        self._case = case
        kept = [each.within for buffer in case.dynamic.values() for each in buffer.kept]
        self._kept = None if None in kept or not kept else kept[0]
        self._named = Reach(case.kernel, case.values, case.shape)
        self._guards = guards_of(case.kernel, case.values)
        self._any_shape = case.bounds(self._guards, None)
        self._bounds = self._any_shape if case.shape is None else case.bounds(self._guards, case.shape)
        self.of: dict[int, Extent] = {}
        self.doubtful: set[int] = set()
        self.shaped = self.before = False

    def bound(self, access: Access) -> None:
        """By what bounds the values in its address."""
        extent = self._by_intervals(access)
        self.of[access.point] = low, high = (
            (-INFINITE, INFINITE) if extent is None else _within_a_block(extent)
        )
        if access.within is None and not access.strayed:
            crosses = any(low < edge < high for edge in self._case.names)
            if low < 0 or crosses or self._guards.get(access.point):
                self.doubtful.add(access.point)

    def _by_intervals(self, access: Access) -> Extent | None:
        case = self._case
        named = self._kept if access.strayed and self._kept else self._named.of(access)
        if named is not None:
            return named
        extent = extent_of(case.kernel, case.values, self._bounds.at(access), access)
        if case.shape is not None and not case.shape.fact and not self.shaped:
            anyway = extent_of(case.kernel, case.values, self._any_shape.at(access), access)
            self.shaped = extent != anyway
        return extent

    def count_threads(self) -> None:
        """What each thread of a known block touches in the doubtful accesses, where that is less."""
        case = self._case
        if case.shape is None or not self.doubtful:
            return
        counted = touched(case.kernel, case.values, case.shape.dims, frozenset(self.doubtful))
        for point, extent in counted.items():
            if extent is None:
                continue
            low, high = self.of[point]
            self.before = self.before or extent[0] < 0
            if low <= extent[0] and extent[1] <= high and extent != (low, high):
                self.of[point] = extent
                self.shaped = self.shaped or not case.shape.fact

    def refusals(self) -> Iterator[Cause]:
        """Why accesses may touch any byte in front of the array or behind it."""
        for access in self._case.accesses:
            low, high = self.of[access.point]
            if low < 0 or high >= INFINITE:
                bounds, least = self._bounds.at(access), low if low > -INFINITE else None
                yield unplaced(self._case.kernel, self._case.values, bounds, access, least)


def _within_a_block(extent: Extent) -> Extent:
    """More bytes than a block can have are no extent: they come from a type, or from what the device allows at most."""
    low, high = extent
    return low, INFINITE if high > MOST_SHARED else high


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
        written=replace(base.written, dims=shown),
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

    def moved(node: Node) -> Iterable[Node]:
        if isinstance(node, Access) and node.point in landing:
            return (
                replace(node, point=node.point + number, buffer=index, within=None)
                for number, index in enumerate(copied)
                if index in landing[node.point]
            )
        return (_access(node, of[node.point]) if isinstance(node, Access) and node.point in of else node,)

    return changed(seq, moved)


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
