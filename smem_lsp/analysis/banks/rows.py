"""The row and byte of each access to a buffer, in a form that also holds for rows of another length."""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.analysis.banks.active_lanes import Guard, LocatedAccess, located
from smem_lsp.analysis.values.affine import Forms
from smem_lsp.analysis.values.block_shape import BlockShape, most_threads
from smem_lsp.analysis.values.ranges import Bounds
from smem_lsp.analysis.values.symbolic_execution import propagate
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import Access, AccessKind, Buffer, Kernel
from smem_lsp.source import record
from smem_lsp.terms.intervals import Interval
from smem_lsp.terms.language import Const, LoopVar, Op, OpaqueTerm, Sym, Term, Thread

Spelled = tuple[object, ...]


@record
class InRow:
    """``row`` and ``byte``: equal for accesses of two kernels that compute them alike; ``inside``: the access never
    leaves its row."""

    row: Spelled
    byte: Spelled
    inside: bool


def row_length(buffer: Buffer) -> int | None:
    """Bytes from one row to the next; None: no rows, or unknown."""
    if len(buffer.dims) < 2 or not buffer.dims[-1] or not buffer.element_bytes or None in buffer.dims:
        return None
    return buffer.dims[-1] * buffer.element_bytes


def row_and_byte(
    forms: Forms, buffer: Buffer, offset: Term | None, indices: tuple[Term, ...] | None
) -> tuple[Term, Term] | None:
    """(row of an access, counted over all dimensions but the last, byte in it); None: unknown. Without ``indices`` they
    come from ``offset``, in bytes."""
    table = forms.table
    if indices is None or len(indices) != len(buffer.dims):
        length = row_length(buffer)
        return None if offset is None or length is None else forms.divided(offset, length)
    row = indices[0]
    for index, dim in zip(indices[1:-1], buffer.dims[1:]):
        row = table.op("+", table.op("*", row, table.const(dim or 0)), index)
    return row, table.op("*", indices[-1], table.const(buffer.element_bytes or 1))


def in_rows(
    kernel: Kernel, buffer: Buffer, shape: BlockShape | None
) -> Iterator[tuple[Access, InRow | None]]:
    """Every access to the buffer, with its place in a row if known. ``shape``: of the block."""
    values = propagate(kernel.body, memory=kernel.memory)
    bounds = (
        Bounds(values.loops, most_threads(kernel))
        if shape is None
        else Bounds(values.loops, shape.dims, exact=True)
    )
    forms = Forms(values.table, bounds)
    for place in located(kernel.body, values):
        access = place.access
        landed = access.asynchronous and access.kind is AccessKind.UPDATE  # counted where the copy is issued
        if access.buffer == buffer.index and not landed:
            yield access, _in_row(values, forms, buffer, place)


def _in_row(values: ValueFacts, forms: Forms, buffer: Buffer, place: LocatedAccess) -> InRow | None:
    access, length = place.access, row_length(buffer)
    width = access.width if access.width is not None else buffer.element_bytes
    if access.guess or access.part is not None or access.tile is not None or length is None or width is None:
        return None
    indices, offset = values.indices.get(access.point), values.offset(access, buffer)
    found = row_and_byte(forms, buffer, offset, indices)
    if found is None:
        return None
    row, byte = found
    spelled = forms.canonical(row).fold(_SPELLING), forms.canonical(byte).fold(_SPELLING)
    if indices is not None and len(indices) == len(buffer.dims):
        low, high = _under_guards(forms, indices[-1], place)
        element = buffer.element_bytes or 1
        low, high = low * element, high * element
    else:
        low, high = forms.bounds.interval(byte)
    if spelled[0] is None or spelled[1] is None:
        return None
    return InRow(spelled[0], spelled[1], low >= 0 and high + width <= length)


def _under_guards(forms: Forms, index: Term, place: LocatedAccess) -> Interval:
    """Bounds of an index where its access runs: ``if (x < 32)`` bounds ``x + 1`` too."""
    low, high = forms.bounds.interval(index)
    for step in place.path:
        condition = step.condition if isinstance(step, Guard) else None
        if not isinstance(step, Guard) or not isinstance(condition, Op) or condition.operator not in _LESS:
            continue
        less, strict = _LESS[condition.operator] if step.taken else _OPPOSITE[condition.operator]
        small, large = condition.args if less else condition.args[::-1]
        beyond = forms.difference(index, small)
        if beyond is not None:
            high = min(high, forms.bounds.interval(large)[1] - strict + beyond)
        above = forms.difference(index, large)
        if above is not None:
            low = max(low, forms.bounds.interval(small)[0] + strict + above)
    return low, high


# (is the first operand the smaller one, by how much at least)
_LESS = {"<": (True, 1), "<=": (True, 0), ">": (False, 1), ">=": (False, 0)}
_OPPOSITE = {"<": (False, 0), "<=": (False, 1), ">": (True, 0), ">=": (True, 1)}


class _Spelling:
    """A term independent of its table. None: it has an unknown part."""

    def constant(self, term: Const) -> Spelled | None:
        return ("const", term.n)

    def thread(self, term: Thread) -> Spelled | None:
        return ("thread", term.axis)

    def symbol(self, term: Sym) -> Spelled | None:
        return ("sym", term.name)

    def loop_variable(self, term: LoopVar) -> Spelled | None:
        return ("loop", term.loop, term.variable)

    def opaque(self, term: OpaqueTerm) -> Spelled | None:
        return None

    def operation(self, term: Op) -> Spelled | None:
        parts = [each.fold(self) for each in term.args]
        return None if None in parts else (term.operator, *parts)


_SPELLING = _Spelling()
