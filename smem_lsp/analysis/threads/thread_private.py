"""Which elements each thread touches, and which writes overwrite a buffer completely.

Everything is evaluated for every thread of a known block shape: no sampling. An index has no slot if it depends on more
than the thread, constants and loop variables with constant steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import gcd

from smem_lsp.analysis.dataflow.facts import Footprint
from smem_lsp.analysis.threads.uniformity import Control
from smem_lsp.analysis.values.affine import Forms
from smem_lsp.analysis.values.block_shape import BlockShape
from smem_lsp.analysis.values.evaluate import EvaluationBudget, Evaluator, advance, iterations_within
from smem_lsp.analysis.values.ranges import Bounds
from smem_lsp.analysis.values.running_threads import RunningThreads
from smem_lsp.analysis.values.value_facts import Recurrence, ValueFacts
from smem_lsp.ir.nodes import Access, AccessKind, Branch, Buffer, Jump, Kernel, Loop, Seq, walk
from smem_lsp.source import checkpoint, record
from smem_lsp.terms.language import LoopVar, Op, Term

_MAX_ELEMENTS = 65_536
_MAX_BYTES = 1 << 18
_MAX_WORK = 1 << 20  # values that are computed to see what one loop writes
_MAX_TURNS = 4096


@record
class Footprints:
    """``slots``: access -> elements of each thread. ``full``: accesses that write the whole buffer; ``covering``:
    branches and loops that, taken as a whole, write every element of these buffers before anything reads them."""

    slots: dict[int, Footprint]
    full: frozenset[int]
    covering: dict[int, frozenset[int]]


class _Block:
    """The threads of one block, and the values of the kernel."""

    def __init__(self, kernel: Kernel, values: ValueFacts, shape: BlockShape) -> None:
        self.kernel = kernel
        self.values = values
        self.threads = Evaluator(shape.dims)
        self.forms = Forms(values.table, Bounds(values.loops, shape.dims, exact=True))
        self.moves: Mapping[LoopVar, Recurrence] = {
            recurrence.atom: recurrence for loop in values.loops.values() for recurrence in loop.recurrences
        }

    def advances(self, atom: LoopVar) -> tuple[list[int], int] | None:
        """(value in the first iteration for each thread, constant step)."""
        moves = self.moves.get(atom)
        return None if moves is None else advance(moves, self.threads)


def find_footprints(
    kernel: Kernel, control: Control, shape: BlockShape | None, values: ValueFacts
) -> Footprints:
    """Slots and full writes of a kernel; without a block shape only whole scalars are full."""
    if shape is None:
        return Footprints({}, _written_scalars(kernel, control), {})
    slots: dict[int, Footprint] = {}
    full: set[int] = set()
    covering: dict[int, frozenset[int]] = {}
    same: dict[Footprint, Footprint] = {}  # equal ones are one object: accesses in their hundreds have a few
    block = _Block(kernel, values, shape)
    for node in walk(kernel.body):
        if isinstance(node, Access):
            steady = node.point in control.steady
            whole = steady and bool(_whole_in(Seq((node,)), {node.buffer}, block))
            buffer = kernel.buffers[node.buffer]
            slot = _slot(node, buffer, block)
            if slot is not None and not node.asynchronous:
                # a copy is not ordered with what its thread does meanwhile
                slots[node.point] = same.setdefault(slot, slot)
            if whole or (steady and (_is_scalar_write(node, buffer) or _writes_all(node, slot, buffer))):
                full.add(node.point)
        elif isinstance(node, (Loop, Branch)) and node.point in control.steady:
            covered = _loop_covers(node, block) if isinstance(node, Loop) else _branch_covers(node, block)
            if covered:
                covering[node.point] = covered
    return Footprints(slots, frozenset(full), covering)


def _written_scalars(kernel: Kernel, control: Control) -> frozenset[int]:
    """The accesses that write a whole scalar, whatever the block is."""
    return frozenset(
        node.point
        for node in walk(kernel.body)
        if isinstance(node, Access)
        and node.point in control.steady
        and _is_scalar_write(node, kernel.buffers[node.buffer])
    )


def _is_scalar_write(access: Access, buffer: Buffer) -> bool:
    return access.kind is AccessKind.WRITE and access.index is not None and not buffer.dims


def _writes_all(access: Access, slot: Footprint | None, buffer: Buffer) -> bool:
    """Do all threads together write every element at once?"""
    return access.kind is AccessKind.WRITE and slot is not None and slot.stride == 0 and _covers(slot, buffer)


def _slot(access: Access, buffer: Buffer, block: _Block) -> Footprint | None:
    """The elements of the buffer that each thread touches; None: they are not known."""
    if access.index is None or buffer.element_bytes is None:
        return None
    flat = block.values.element(access, buffer)
    if flat is None or not flat.known:
        return None
    if not flat.carried:
        starts = block.threads.values(flat)
        return _footprint(starts, 0, buffer)
    stride = 0
    first: dict[LoopVar, list[int] | int] = {}
    form = block.forms.linear(flat)
    for atom in flat.carried:
        if not isinstance(atom, LoopVar):
            return None
        factors = form.coefficient(atom)
        advances = block.advances(atom)
        if list(factors) != [()] or advances is None or factors[()] * advances[1] < 0:
            return None
        stride = gcd(stride, factors[()] * advances[1])
        first[atom] = advances[0]
    if any(atom not in first and atom.carried for atom in form.atoms):
        return None  # a loop variable inside a division, say
    starts = block.threads.within(first).values(block.forms.canonical(flat))
    return _footprint(starts, stride, buffer)


def _footprint(starts: list[int] | None, stride: int, buffer: Buffer) -> Footprint | None:
    if starts is None or min(starts) < 0:  # some thread leaves the buffer
        return None
    assert buffer.element_bytes is not None
    return Footprint(tuple(starts), stride, buffer.element_bytes)


def _elements(buffer: Buffer) -> int | None:
    if buffer.bytes is None or not buffer.element_bytes:
        return None
    count = buffer.bytes // buffer.element_bytes
    return count if count <= _MAX_ELEMENTS else None


def _covers(slot: Footprint, buffer: Buffer) -> bool:
    """Do all threads together touch every element?"""
    count = _elements(buffer)
    return count is not None and len(set(slot.starts)) >= count and set(range(count)) <= set(slot.starts)


def _loop_covers(loop: Loop, block: _Block) -> frozenset[int]:
    """Buffers that a loop fills: each of them by one write, or by several together."""
    alone = _writes_cover(loop, block)
    return alone | _iterations_cover(loop, block, alone)


def _writes_cover(loop: Loop, block: _Block) -> frozenset[int]:
    """Buffers that ``for (i = id; i < N; i += threads) a[i] = ...`` fills."""
    facts = block.values.loops.get(loop.point)
    if facts is None or not facts.tested or facts.once:
        return frozenset()
    if any(isinstance(node, Jump) for node in walk(loop.body)):
        return frozenset()
    accesses = [node for node in walk(loop.body) if isinstance(node, Access)]
    covered: set[int] = set()
    for node in loop.body:
        checkpoint()
        if not isinstance(node, Access) or node.kind is not AccessKind.WRITE or node.index is None:
            continue
        if any(other.buffer == node.buffer and other.kind.reads for other in accesses):
            continue
        if _fills(node, block.kernel.buffers[node.buffer], facts.head, block):
            covered.add(node.buffer)
    return frozenset(covered)


def _iterations_cover(loop: Loop, block: _Block, known: frozenset[int]) -> frozenset[int]:
    """Buffers that the iterations of a loop, and of loops in it, fill together: unrolled copies, vector stores.
    ``known``: those that need no second look."""
    if any(isinstance(node, Jump) for node in walk(loop.body)):
        return frozenset()
    accesses = [node for node in walk(loop.body) if isinstance(node, Access)]
    read = {node.buffer for node in accesses if node.kind is not AccessKind.WRITE}
    wanted = {node.buffer for node in accesses} - read - known
    return _whole_in(Seq((loop,)), wanted, block) if wanted else frozenset()


def _whole_in(seq: Seq, wanted: set[int], block: _Block) -> frozenset[int]:
    """Those of the buffers of which the writes that surely run in ``seq`` touch every byte."""
    touched: dict[int, bytearray] = {}
    for index in wanted:
        size = block.kernel.buffers[index].bytes
        if size and size <= _MAX_BYTES:
            touched[index] = bytearray(size)
    if touched:
        _Touch(touched, block).seq(seq, replace(block.threads, work=EvaluationBudget(_MAX_WORK)))
    return frozenset(index for index, seen in touched.items() if all(seen))


class _Touch(RunningThreads):
    """Marks the bytes that threads surely write; what is not known marks nothing."""

    def __init__(self, touched: Mapping[int, bytearray], block: _Block) -> None:
        super().__init__(block.values)
        self.touched = touched
        self.block = block

    def access(self, node: Access, threads: Evaluator) -> None:
        seen = self.touched.get(node.buffer)
        if seen is not None and node.kind is AccessKind.WRITE and not node.asynchronous:
            _mark(node, threads, seen, self.block)

    def iterations(self, node: Loop, threads: Evaluator) -> Iterator[Evaluator]:
        facts = self.values.loops.get(node.point)
        for iteration in () if facts is None else iterations_within(facts, threads, _MAX_TURNS):
            if iteration is None:
                break
            yield iteration


def _mark(access: Access, threads: Evaluator, seen: bytearray, block: _Block) -> None:
    buffer = block.kernel.buffers[access.buffer]
    width = access.width if access.width is not None else buffer.element_bytes
    offset = block.values.offset(access, buffer)
    if access.guess or access.part is not None or access.rows or not width or offset is None:
        return
    starts = threads.values(offset)
    if starts is None or min(starts) < 0 or max(starts) + width > len(seen):
        return
    one = b"\1" * width
    for start in starts:
        seen[start : start + width] = one


def _fills(access: Access, buffer: Buffer, goes_on: Term, block: _Block) -> bool:
    """Does the access fill the buffer? ``goes_on``: the condition of the loop around it."""
    count = _elements(buffer)
    flat = block.values.element(access, buffer)
    if count is None or flat is None or not isinstance(goes_on, Op) or goes_on.operator not in ("<", "<="):
        return False
    atom, bound = goes_on.args
    if not isinstance(atom, LoopVar) or not block.forms.equal(flat, atom):
        return False
    last, advances = block.threads.uniform_value(bound), block.advances(atom)
    if last is None or advances is None or advances[1] <= 0:
        return False
    end = last + 1 if goes_on.operator == "<=" else last
    touched = bytearray(count)
    for start in set(advances[0]):
        if 0 <= start < count:
            stop = min(end, count)
            touched[start : stop : advances[1]] = b"\1" * len(range(start, stop, advances[1]))
    return all(touched)


def _branch_covers(branch: Branch, block: _Block) -> frozenset[int]:
    """Scalars that ``if (threadIdx.x == 0) s = ...`` writes: one thread of the block surely does."""
    taken = block.threads.values(block.values.conditions[branch.point])
    if taken is None or not any(taken):
        return frozenset()
    kernel = block.kernel
    written = {
        node.buffer
        for node in branch.then
        if isinstance(node, Access)
        and node.kind is AccessKind.WRITE
        and not kernel.buffers[node.buffer].dims
        and node.index is not None
    }
    touched_otherwise = {
        node.buffer
        for node in (*walk(branch.then), *walk(branch.otherwise))
        if isinstance(node, Access) and node.kind.reads
    }
    jumps = any(isinstance(node, Jump) for node in walk(branch.then))
    return frozenset() if jumps else frozenset(written - touched_otherwise)
