"""Which elements each thread touches, and which writes leave nothing of the old value.

Everything is evaluated for every thread of a known block shape: no algebra, no sampling. An index that depends on
more than the thread, constants and one counted loop has no slot.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from smem_lsp.analysis.block_shape import BlockShape
from smem_lsp.analysis.facts import Slot
from smem_lsp.analysis.uniformity import Control
from smem_lsp.ir.model import (
    Access,
    Assign,
    Branch,
    Buffer,
    Induction,
    Jump,
    Kernel,
    Kind,
    Loop,
    Node,
    Seq,
    walk,
)
from smem_lsp.ir.values import Const, Op, Sym, Thread, Value, Var, operation
from smem_lsp.syntax.conditions import apply_operator

_MAX_ELEMENTS = 65_536
_MAX_DEPTH = 24


@dataclass(frozen=True, slots=True)
class Slots:
    """``slots``: access -> elements of each thread. ``full``: accesses that write the whole buffer; ``covering``:
    branches and loops that, taken as a whole, write every element of these buffers before anything reads them."""

    slots: dict[int, Slot]
    full: frozenset[int]
    covering: dict[int, frozenset[int]]


class _Threads:
    """Evaluates values for all threads of one block. ``definitions``: variables with a single, fixed value."""

    def __init__(self, kernel: Kernel, shape: BlockShape) -> None:
        self.shape = shape
        x, y, z = shape.dims
        self.ids = [(i, j, k) for k in range(z) for j in range(y) for i in range(x)]
        self.definitions = _single_definitions(kernel.body)
        self._cache: dict[Value, tuple[int, ...] | None] = {}

    def values(self, value: Value, depth: int = 0) -> tuple[int, ...] | None:
        """The value in every thread, in order of the linear thread id; None when it is not known."""
        if value not in self._cache:
            self._cache[value] = None if depth > _MAX_DEPTH else self._values(value, depth)
        return self._cache[value]

    def _values(self, value: Value, depth: int) -> tuple[int, ...] | None:
        match value:
            case Const():
                return (value.n,) * len(self.ids)
            case Thread():
                axis = "xyz".find(value.axis)
                return tuple(thread[axis] for thread in self.ids) if axis >= 0 else None
            case Sym():
                if value.name.startswith("blockDim.") and value.name[-1] in "xyz":
                    return (self.shape.dims["xyz".index(value.name[-1])],) * len(self.ids)
                return None
            case Var():
                definition = self.definitions.get(value.index)
                return None if definition is None else self.values(definition, depth + 1)
            case Op():
                if len(value.args) != 2:
                    return None
                left, right = (self.values(arg, depth + 1) for arg in value.args)
                if left is None or right is None:
                    return None
                results = [apply_operator(value.operator, a, b) for a, b in zip(left, right)]
                # negative or huge: threadIdx is unsigned and 32 bits wide, so the value is another one in C
                known = [r for r in results if r is not None and 0 <= r < 1 << 31]
                return tuple(known) if len(known) == len(results) else None
            case _:
                return None

    def constant(self, value: Value) -> int | None:
        """The value when it is the same number in every thread."""
        values = self.values(value)
        return values[0] if values and len(set(values)) == 1 else None


def _single_definitions(body: Seq) -> dict[int, Value]:
    """Variables that are assigned exactly once."""
    found: dict[int, Value | None] = {}
    for node in walk(body):
        if isinstance(node, Assign):
            found[node.variable] = None if node.variable in found else node.value
    return {variable: value for variable, value in found.items() if value is not None}


def find_slots(kernel: Kernel, control: Control, shape: BlockShape | None) -> Slots:
    """Slots and full writes of a kernel; without a block shape only whole scalars are full."""
    slots: dict[int, Slot] = {}
    full: set[int] = set()
    covering: dict[int, frozenset[int]] = {}
    threads = _Threads(kernel, shape) if shape is not None else None
    for node, loops in _with_loops(kernel.body, ()):
        if isinstance(node, Access) and node.index is not None:
            buffer = kernel.buffers[node.buffer]
            if node.kind is Kind.WRITE and not buffer.dims and node.point in control.steady:
                full.add(node.point)
            if threads is None or buffer.element_bytes is None:
                continue
            slot = _slot(node, buffer, loops, threads)
            if slot is None:
                continue
            slots[node.point] = slot
            if (
                node.kind is Kind.WRITE
                and node.point in control.steady
                and slot.stride == 0
                and _covers(slot, buffer)
            ):
                full.add(node.point)
        elif isinstance(node, Loop) and threads is not None and node.point in control.steady:
            covered = _loop_covers(node, kernel, threads)
            if covered:
                covering[node.point] = covered
        elif isinstance(node, Branch) and threads is not None and node.point in control.steady:
            scalars = _branch_covers(node, kernel, threads)
            if scalars:
                covering[node.point] = scalars
    return Slots(slots, frozenset(full), covering)


def _with_loops(seq: Seq, loops: tuple[Loop, ...]) -> Iterator[tuple[Node, tuple[Loop, ...]]]:
    for node in seq:
        yield node, loops
        if isinstance(node, Branch):
            yield from _with_loops(node.then, loops)
            yield from _with_loops(node.otherwise, loops)
        elif isinstance(node, Loop):
            yield from _with_loops(node.body, (*loops, node))


def flat_index(index: tuple[Value, ...], dims: tuple[int | None, ...]) -> Value | None:
    """Row-major element number; ``[i / C][i % C]`` with C the last dimension is ``i``."""
    if len(index) != len(dims) or any(dim is None for dim in dims[1:]):
        return None
    flat: Value = Const(0)
    for position, (value, dim) in enumerate(zip(index, dims)):
        if position == 0:
            flat = value
            continue
        assert dim is not None
        whole = _quotient_of(flat, dim)
        if whole is not None and value == Op("%", (whole, Const(dim))):
            flat = whole
        else:
            flat = operation("+", operation("*", flat, Const(dim)), value)
    return flat


def _quotient_of(value: Value, divisor: int) -> Value | None:
    if isinstance(value, Op) and value.operator == "/" and value.args[1] == Const(divisor):
        return value.args[0]
    return None


def _slot(access: Access, buffer: Buffer, loops: tuple[Loop, ...], threads: _Threads) -> Slot | None:
    assert access.index is not None and buffer.element_bytes is not None
    flat = flat_index(access.index, buffer.dims)
    if flat is None:
        return None
    starts = threads.values(flat)
    if starts is not None:
        return Slot(starts, 0, buffer.element_bytes)
    for loop in reversed(loops):
        induction = loop.induction
        if induction is None or not _mentions(flat, induction.variable):
            continue
        terms = _linear(flat, induction.variable)
        step = threads.constant(induction.step)
        first = threads.values(induction.init)
        if terms is None or step is None or step <= 0 or first is None:
            return None
        factor, rest = terms
        offsets = threads.values(rest)
        if factor <= 0 or offsets is None:
            return None
        return Slot(
            tuple(factor * f + o for f, o in zip(first, offsets)), factor * step, buffer.element_bytes
        )
    return None


def _mentions(value: Value, variable: int) -> bool:
    if isinstance(value, Op):
        return any(_mentions(arg, variable) for arg in value.args)
    return value == Var(variable)


def _linear(value: Value, variable: int) -> tuple[int, Value] | None:
    """``value`` as ``factor * variable + rest``; None when it is not of that form."""
    if value == Var(variable):
        return 1, Const(0)
    if not _mentions(value, variable):
        return 0, value
    if not isinstance(value, Op) or len(value.args) != 2:
        return None
    left, right = (_linear(arg, variable) for arg in value.args)
    if left is None or right is None:
        return None
    if value.operator in ("+", "-"):
        factor = left[0] + right[0] if value.operator == "+" else left[0] - right[0]
        return factor, operation(value.operator, left[1], right[1])
    if value.operator == "*":
        scale, terms = (value.args[0], right) if isinstance(value.args[0], Const) else (value.args[1], left)
        if isinstance(scale, Const):
            return scale.n * terms[0], operation("*", terms[1], scale)
    return None


def _elements(buffer: Buffer) -> int | None:
    if buffer.bytes is None or not buffer.element_bytes:
        return None
    count = buffer.bytes // buffer.element_bytes
    return count if count <= _MAX_ELEMENTS else None


def _covers(slot: Slot, buffer: Buffer) -> bool:
    """Do all threads together touch every element?"""
    count = _elements(buffer)
    return count is not None and len(set(slot.starts)) >= count and set(range(count)) <= set(slot.starts)


def _loop_covers(loop: Loop, kernel: Kernel, threads: _Threads) -> frozenset[int]:
    """Buffers that ``for (i = id; i < N; i += threads) a[i] = ...`` fills."""
    induction = loop.induction
    if induction is None or any(isinstance(node, Jump) for node in walk(loop.body)):
        return frozenset()
    accesses = [node for node in walk(loop.body) if isinstance(node, Access)]
    covered: set[int] = set()
    for node in loop.body:
        if not isinstance(node, Access) or node.kind is not Kind.WRITE or node.index is None:
            continue
        if any(other.buffer == node.buffer and other.kind.reads for other in accesses):
            continue
        if _fills(node, kernel.buffers[node.buffer], induction, threads):
            covered.add(node.buffer)
    return frozenset(covered)


def _fills(access: Access, buffer: Buffer, induction: Induction, threads: _Threads) -> bool:
    assert access.index is not None
    count = _elements(buffer)
    flat = flat_index(access.index, buffer.dims)
    if count is None or flat != Var(induction.variable):
        return False
    bound, step = threads.constant(induction.bound), threads.constant(induction.step)
    first = threads.values(induction.init)
    if bound is None or step is None or step <= 0 or first is None:
        return False
    end = bound + 1 if induction.inclusive else bound
    touched = bytearray(count)
    for start in set(first):
        if 0 <= start < count:
            last = min(end, count)
            touched[start:last:step] = b"\1" * len(range(start, last, step))
    return all(touched)


def _branch_covers(branch: Branch, kernel: Kernel, threads: _Threads) -> frozenset[int]:
    """Scalars that ``if (threadIdx.x == 0) s = ...`` writes: one thread of the block surely does."""
    taken = threads.values(branch.condition)
    if taken is None or not any(taken):
        return frozenset()
    written = {
        node.buffer
        for node in branch.then
        if isinstance(node, Access)
        and node.kind is Kind.WRITE
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
