"""Ranges of dynamic shared memory in terms: ``float* vals = keys + n;`` begins 4·n bytes into the array.

A range begins where a pointer begins that accesses go through, with a start that is the same for all threads and at all
times; what is counted from it per thread or per iteration stays in it, as elements of an array stay in their array.
That is what the author means, not what anybody has proved, so it is an assumption that whoever shows the ranges says.
Starts have to be in an order that holds for all sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import pairwise

from smem_lsp.analysis.storage.refusals import Dynamic
from smem_lsp.analysis.values.extents import Extent
from smem_lsp.analysis.values.invariant_loads import Untouched, untouched
from smem_lsp.analysis.values.pointer_ranges import (
    assignments,
    copied_name,
    declared_pointer,
    pointer_name,
    pointers_in,
)
from smem_lsp.analysis.values.sums import fixed_part, spelled, sum_of
from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.ir.nodes import Access, Buffer, Kernel, Node, Seq, changed, walk
from smem_lsp.ir.values import Const, Op, Sym, Unknown, Value, Var, operation, parts_of
from smem_lsp.source import checkpoint, record
from smem_lsp.terms.operators import Operator
from smem_lsp.terms.polynomial import added, is_nonnegative
from smem_lsp.terms.symbolic import SymbolicSum

_MOST = 20  # pointers made of each other


@record
class TermRange:
    """``index``: of the buffer that stands for it; ``begin``: bytes from the start of the array; ``size``: None for the
    last one, which ends with the array."""

    index: int
    name: str
    begin: SymbolicSum
    size: SymbolicSum | None


@record
class TermPartition:
    """``base``: the buffer that the ranges are in; ``of``: access (its point) -> range (its index); ``starts``: access
    -> the pointer that it goes through, and where that begins; ``through``: the last one on the way that the kernel
    declares, which may be a copy of that; ``stays``: no range shares bytes, because something keeps an address of one,
    copies land beside the thread, or one holds an object whose layout is not known."""

    base: int
    ranges: tuple[TermRange, ...]
    of: Mapping[int, int]
    starts: Mapping[int, tuple[str, SymbolicSum]]
    stays: bool = False
    through: Mapping[int, str] = field(default_factory=dict)
    doubts: tuple[Cause, ...] = ()  # accesses of which only the assumption says where they end

    @property
    def assumes(self) -> str:
        """In words; empty: nothing."""
        if len(self.ranges) < 2:
            return ""
        pairs = (f"`{a.name}` stays below `{b.name}`" for a, b in pairwise(self.ranges))
        return f"assumes that what goes through {', '.join(pairs)}"

    def applied(self, kernel: Kernel) -> Kernel:
        """``kernel`` with the ranges as buffers behind its own, of unknown size; no access says which element."""
        base = kernel.buffers[self.base]
        made = (_buffer(base, each) for each in self.ranges)
        return replace(kernel, buffers=(*kernel.buffers, *made), body=_retargeted(kernel.body, self.of))

    def named(self, kernel: Kernel) -> Kernel | None:
        """The same, where accesses say which byte of the whole array they touch; None: there are several arrays."""
        base = kernel.buffers[self.base]
        every = (node for node in walk(kernel.body) if isinstance(node, Access) and node.point in self.of)
        if any(node.buffer != self.base for node in every):
            return None
        made = (replace(base, index=each.index, name=each.name) for each in self.ranges)
        body = _retargeted(kernel.body, self.of, whole=True)
        return replace(kernel, buffers=(*kernel.buffers, *made), body=body)


def partition_in_terms(
    kernel: Kernel,
    accesses: Sequence[Access],
    dynamic: Dynamic,
    reached: Mapping[int, Extent],
    described: Mapping[int, Extent],
) -> TermPartition | tuple[Cause, ...]:
    """The ranges of all accesses to dynamic shared memory, or why they are not known. ``reached``: the bytes that an
    access (its point) may touch, where that is known: what one crosses is one range; ``described``: those that the
    address in a descriptor may be of."""
    every = assignments(kernel)
    settled = _Settled(kernel, every, untouched(kernel.memory, every))
    assigned = {variable: [settled.of(each) for each in given] for variable, given in every.items()}
    begins: dict[int, _Start] = {}
    refused: list[Cause] = []
    for access in accesses:
        checkpoint()
        if access.point in described:
            continue
        found = _begin(kernel, settled.access(access), assigned)
        if isinstance(found, Cause):
            refused.append(found)
        else:
            begins[access.point] = found
    if refused:
        return tuple(dict.fromkeys(refused))
    names: dict[str, tuple[SymbolicSum, str]] = {}
    for each in begins.values():
        names.setdefault(spelled(each.begin), (each.begin, each.name))
    ordered = _ordered(names.values())
    if isinstance(ordered, Cause):
        return (replace(ordered, line=kernel.row),)
    crossing = (*reached.values(), *described.values())
    ordered = [each for each in ordered if not _is_crossed(each[0], crossing)]
    refused = list(_through_all(begins, accesses, reached)) if len(ordered) > 1 else []
    if refused:
        return tuple(dict.fromkeys(refused))
    ranges = tuple(_ranges(len(kernel.buffers), ordered))
    if not ranges:
        return ()
    of = {point: _range_at(ranges, each.least).index for point, each in begins.items()}
    starts = {point: (each.name, each.begin) for point, each in begins.items()}
    for point, (low, _) in described.items():
        named = _range_at(ranges, {(): low})
        of[point] = named.index
        starts[point] = named.name, named.begin
    through = {point: each.through for point, each in begins.items()}
    return TermPartition(min(dynamic), ranges, of, starts, _keep_bytes(dynamic, accesses), through)


def _ranges(first: int, ordered: Sequence[tuple[SymbolicSum, str]]) -> Iterator[TermRange]:
    """Each from its start to the next one. ``first``: the index of the first one."""
    ends = [*(begin for begin, _ in ordered[1:]), None]
    for index, ((begin, name), end) in enumerate(zip(ordered, ends), first):
        yield TermRange(index, name, begin, None if end is None else added(end, begin, -1))


def _keep_bytes(dynamic: Dynamic, accesses: Iterable[Access]) -> bool:
    """Is there anything for which no range shares bytes: a kept address, a copy beside the thread, an object whose
    layout is not known?"""
    return any(buffer.kept for buffer in dynamic.values()) or any(
        each.asynchronous or each.keeps or each.part is not None for each in accesses
    )


@record
class _Settled:
    """Values in which what is loaded from memory that the kernel leaves alone is the same at all times."""

    kernel: Kernel
    assigned: Mapping[int, list[Value]]
    memory: Untouched

    def access(self, access: Access) -> Access:
        """The same access, with such values in its address."""
        offset = None if access.offset is None else self.of(access.offset)
        part = None if access.part is None else replace(access.part, base=self.of(access.part.base))
        return replace(access, offset=offset, part=part)

    def of(self, value: Value) -> Value:
        checkpoint()
        if not isinstance(value, Op):
            return value
        args = tuple(map(self.of, value.args))
        alone = value.operator is Operator.LOAD and self._is_alone(args[0])
        operator = Operator.READONLY if alone else value.operator
        return value if args == value.args and not alone else replace(value, operator=operator, args=args)

    def _is_alone(self, base: Value) -> bool:
        given = self.assigned.get(base.index, []) if isinstance(base, Var) else []
        base = given[0] if len(given) == 1 else base
        return (
            isinstance(base, Sym)
            and base.name in self.kernel.memory.pointers
            and self.memory.leaves_alone(base.name)
        )


def _is_crossed(begin: SymbolicSum, reached: Iterable[Extent]) -> bool:
    """Does an access reach from one side of it to the other?"""
    if set(begin) != {()}:
        return False
    return any(low < begin[()] < high for low, high in reached)


def _through_all(
    begins: Mapping[int, _Start], accesses: Iterable[Access], reached: Mapping[int, Extent]
) -> Iterator[Cause]:
    """What may reach through every range: it goes through the array itself, beside a pointer to the first range."""
    pointers = [each.name for each in begins.values() if each.pointer and not each.begin]
    for access in accesses if pointers else ():
        start = begins.get(access.point)
        if start is None:  # it is in the range of what its descriptor names
            continue
        if not start.pointer and not start.least and access.point not in reached:
            yield Cause(CauseKind.PART_EXTENT, access.line, (start.name, pointers[0]))


def _range_at(ranges: Sequence[TermRange], least: SymbolicSum) -> TermRange:
    """The range of what is accessed there at the lowest: the last one that surely begins no later."""
    reached = (each for each in reversed(ranges) if is_nonnegative(added(least, each.begin, -1)))
    return next(reached, ranges[0])


@record
class _Start:
    """``begin``: of the pointer; ``least``: of what is accessed at the lowest; ``pointer``: is it none of the array?"""

    begin: SymbolicSum
    name: str
    least: SymbolicSum
    pointer: bool = True
    through: str = ""


def _begin(kernel: Kernel, access: Access, assigned: Mapping[int, list[Value]]) -> _Start | Cause:
    """Where the pointer of an access begins; why that is not known. What is written into each access counts
    as the start of a pointer: ``smem[n + threadIdx.x]``."""
    buffer = kernel.buffers[access.buffer]
    if access.strayed:
        return Cause(CauseKind.BYTES, access.line, (buffer.name,))
    # of an object whose layout is not known: somewhere in it
    offset = _offset(access, buffer) if access.part is None else access.part.base
    if offset is None:
        return Cause(CauseKind.ACCESS_START, access.line, (buffer.name,))
    pending = pointers_in(kernel, offset)
    own = fixed_part(offset, assigned)
    if not pending:
        begin = own if set(own) - {()} else {}
        name = f"{buffer.name} + {spelled(begin)}" if begin else buffer.name
        return _Start(begin, name, own, access.part is not None, "" if begin else buffer.name)
    seen: set[int] = set()
    while len(pending) == 1 and pending[0] not in seen and len(seen) < _MOST:
        (pointer,) = pending
        seen.add(pointer)
        given = assigned.get(pointer, [])
        start = sum_of(given[0], assigned) if len(given) == 1 else None
        if start is not None:
            return _at_pointer(kernel, pointer, start, own, assigned)
        if not all(_is_followed(value, assigned, {pointer}) for value in given):
            kind = CauseKind.SEVERAL_PLACES if _are_chosen(given) else CauseKind.POINTER_START
            return Cause(kind, access.line, (pointer_name(kernel, pointer),))
        pending = sorted({each for value in given for each in pointers_in(kernel, value)} - {pointer})
        plain = [value for value in given if not pointers_in(kernel, value)]
        if _has_several_starts(plain, pending, assigned):
            return Cause(CauseKind.SEVERAL_PLACES, access.line, (pointer_name(kernel, pointer),))
        if not pending:
            return _Start({}, buffer.name, {})  # counted from the array itself
    names = tuple(pointer_name(kernel, each) for each in pending)
    return Cause(CauseKind.SEVERAL_POINTERS, access.line, names)


def _at_pointer(
    kernel: Kernel, pointer: int, start: SymbolicSum, own: SymbolicSum, assigned: Mapping[int, list[Value]]
) -> _Start:
    """The start of a pointer that begins at one byte. ``own``: what of the access is the same for all threads."""
    further = is_nonnegative(added(own, start, -1))
    name = copied_name(kernel, pointer, assigned)
    through = declared_pointer(kernel, pointer, assigned)
    return _Start(start, name, own if further else start, through=through)


def _are_chosen(given: Iterable[Value]) -> bool:
    """Is one of these values the choice of a condition?"""
    parts = (each for value in given for each in parts_of(value))
    return any(isinstance(each, Op) and each.operator is Operator.CONDITIONAL for each in parts)


def _has_several_starts(
    plain: Sequence[Value], pointers: Sequence[int], assigned: Mapping[int, list[Value]]
) -> bool:
    """Is a pointer counted from the array itself in its ``plain`` values, and there not from its first byte alone, or
    from other ``pointers``, too?"""
    return bool(plain) and (
        bool(pointers) or any(sum_of(value, assigned) not in ({}, None) for value in plain)
    )


_LOADED = (Operator.LOAD, Operator.READONLY, Operator.ELEMENT, Operator.CALL)


def _is_followed(value: Value, assigned: Mapping[int, list[Value]], seen: set[int]) -> bool:
    """Is it made of the thread's number, of iterations of loops, and of what is the same at all times? What is loaded
    is, where the place that it is loaded from is not the same for all threads and at all times: no range begins
    there."""
    checkpoint()
    if sum_of(value, assigned) is not None:
        return True
    if isinstance(value, Var):
        given = assigned.get(value.index, [])
        if value.index in seen:
            return True
        fixed = [total for total in (sum_of(each, assigned) for each in given) if total is not None]
        if len(given) > 1 and any(fixed) and not _is_carried(value.index, assigned):
            return False
        seen.add(value.index)
        return bool(given) and all(_is_followed(each, assigned, seen) for each in given)
    if not isinstance(value, Op):
        return not isinstance(value, Unknown)
    if value.operator is Operator.CONDITIONAL:
        return False
    if value.operator in _LOADED:
        base, *indices = value.args
        if value.operator is Operator.CALL:
            return any(_varies(each, assigned, seen) for each in value.args)
        part = isinstance(base, Op) and base.operator in _LOADED
        return any(_varies(each, assigned, seen) for each in (*indices, *((base,) if part else ())))
    return all(_is_followed(each, assigned, seen) for each in value.args)


def _varies(value: Value, assigned: Mapping[int, list[Value]], seen: set[int]) -> bool:
    """Is it followed, and not the same for all threads and at all times?"""
    return sum_of(value, assigned) is None and _is_followed(value, assigned, seen)


def _is_carried(variable: int, assigned: Mapping[int, list[Value]]) -> bool:
    """Is it made of what it was in the iteration before?"""
    seen: set[int] = set()
    pending = list(assigned.get(variable, ()))
    while pending:
        checkpoint()
        value = pending.pop()
        if isinstance(value, Op):
            pending += value.args
        elif isinstance(value, Var) and value.index not in seen:
            if value.index == variable:
                return True
            seen.add(value.index)
            pending += assigned.get(value.index, ())
    return False


def _offset(access: Access, buffer: Buffer) -> Value | None:
    if access.together:
        return access.start
    if access.offset is not None or access.index is None:
        return access.offset
    if len(access.index) > 1:
        return None
    size = Const(buffer.element_bytes or 1)  # only whether it is 0 matters
    return operation(Operator.MULTIPLY, access.index[0], size) if access.index else Const(0)


def _ordered(found: Iterable[tuple[SymbolicSum, str]]) -> list[tuple[SymbolicSum, str]] | Cause:
    """By their starts; which two have no order that holds for all sizes."""
    ordered: list[tuple[SymbolicSum, str]] = []
    for begin, name in found:
        at = len(ordered)
        for number, (other, its_name) in enumerate(ordered):
            if is_nonnegative(added(other, begin, -1)):
                at = number
                break
            if not is_nonnegative(added(begin, other, -1)):
                return Cause(CauseKind.WHICH_FIRST, names=(name, its_name))
        ordered.insert(at, (begin, name))
    if not ordered or is_nonnegative(ordered[0][0]):
        return ordered
    return Cause(CauseKind.BEFORE_ARRAY, names=(ordered[0][1],))


def _buffer(base: Buffer, each: TermRange) -> Buffer:
    return replace(
        base,
        index=each.index,
        name=each.name,
        dims=(None,),
        written=replace(base.written, dims=()),
        element_bytes=None,
        bytes=None,
        members=(),
        kept=(),
    )


def _retargeted(seq: Seq, of: Mapping[int, int], *, whole: bool = False) -> Seq:
    """``whole``: bytes stay those of the whole array."""

    def moved(node: Node) -> tuple[Node, ...]:
        if isinstance(node, Access) and node.point in of:
            node = replace(node, buffer=of[node.point])
            if not whole:
                node = replace(node, index=None, offset=None, within=None, subscripts=())
        return (node,)

    return changed(seq, moved)
