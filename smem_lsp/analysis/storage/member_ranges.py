"""The bytes of a buffer that an access names: those of a member of a class, whatever its index.

An access belongs to the object that it names, as for arrays. One that visibly leaves the object belongs to all bytes
that it may touch.
"""

from __future__ import annotations

from smem_lsp.analysis.values.block_shape import BlockShape
from smem_lsp.analysis.values.extents import Extent, extent_of
from smem_lsp.analysis.values.ranges import Bounds
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import Access, Branch, Kernel, Seq, placed, walk
from smem_lsp.terms.intervals import INFINITE
from smem_lsp.terms.language import LoopVar, Op, Term, Thread


class Reach:
    """The bytes that the accesses of a kernel name."""

    def __init__(self, kernel: Kernel, values: ValueFacts, shape: BlockShape | None) -> None:
        self._kernel = kernel
        self._values = values
        dims = shape.dims if shape is not None and shape.fact else (1, 1, 1)  # thread 0 is in every block
        self._bounds = Bounds(values.loops, dims, exact=True)
        self._guarded = _guarded(kernel.body, values)

    def of(self, access: Access) -> Extent | None:
        """(first byte, end byte) that an access may touch; None: it names no object."""
        within = access.within
        if within is None or access.strayed or self._walks(access):
            return None
        if access.point in self._guarded:
            return within
        extent = extent_of(self._kernel, self._values, self._bounds, access)
        if extent is None:
            return within
        return min(extent[0], within[0]), max(extent[1], within[1])

    def _walks(self, access: Access) -> bool:
        """Does it use a pointer that a loop moves without a known bound?"""
        offset = self._values.offset(access, self._kernel.buffers[access.buffer])
        if offset is None or max(map(abs, self._bounds.interval(offset))) < INFINITE:
            return False
        names = self._kernel.variables
        return any(
            isinstance(atom, LoopVar) and names[atom.variable].endswith(" in bytes")
            for atom in offset.carried
        )


def _guarded(seq: Seq, values: ValueFacts) -> frozenset[int]:
    """Accesses that only some threads may run: guards bound their index in ways not modelled here."""
    conditions = values.conditions
    branches = (node for node in walk(seq) if isinstance(node, Branch))
    differing = {node.point for node in branches if _differs(conditions.get(node.point))}
    return frozenset(
        node.point
        for node, around in placed(seq)
        if isinstance(node, Access) and any(each.point in differing for each in around)
    )


def _differs(condition: Term | None) -> bool:
    """May a condition hold for some threads only?"""
    if condition is None or not condition.known or isinstance(condition, Thread):
        return True
    if isinstance(condition, Op):
        return any(map(_differs, condition.args))
    return bool(condition.carried)
