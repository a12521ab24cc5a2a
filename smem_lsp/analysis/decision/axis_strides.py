"""What threads do alike that differ in one coordinate alone.

They come to an access together where nothing that decides who comes there is made of that coordinate. If only the
coordinate itself tells apart what they touch, then the last of them is as far behind any of them as its coordinate
says: where no index leaves its buffer, its index does not either, and that is how many threads the block may have.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from smem_lsp.analysis.decision.loaded_values import inputs_of
from smem_lsp.analysis.values.affine import Forms
from smem_lsp.analysis.values.block_shape import most_threads
from smem_lsp.analysis.values.ranges import Bounds
from smem_lsp.ir.nodes import Access, Branch, Loop
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.terms.language import Term, Thread, parts_of

if TYPE_CHECKING:
    from smem_lsp.analysis.decision.kernel_model import KernelModel


def steps_along(of: KernelModel, axis: str) -> dict[int, int]:
    """By the point of an access that threads come to together which differ in ``axis`` alone: how many bytes one of
    them is behind the one before it, where that is a number and not 0."""
    return _Along(of, axis).steps()


@dataclass(slots=True)
class _Along:
    of: KernelModel
    axis: str
    _alike: dict[Term, bool] = field(default_factory=dict)

    def steps(self) -> dict[int, int]:
        of = self.of
        steady = of.control_where(self._decided_alike()).steady
        forms = Forms(of.values.table, Bounds(of.values.loops, most_threads(of.kernel)))
        steps = {each.point: self._step(forms, each) for each in of.accesses if each.point in steady}
        return {point: step for point, step in steps.items() if step}

    def _decided_alike(self) -> frozenset[int]:
        """The branches and loops (points) at which such threads decide alike."""
        found = set[int]()
        for node in self.of.nodes:
            if not isinstance(node, Branch | Loop):
                continue
            condition = self.of.values.conditions.get(node.point)
            loop = self.of.values.loops.get(node.point)
            deciding = [] if condition is None else [condition]
            deciding += () if loop is None else (loop.first, loop.head, loop.again)
            if all(map(self._is_alike, deciding)):
                found.add(node.point)
        return frozenset(found)

    def _is_alike(self, term: Term) -> bool:
        """Have such threads surely one value of it?"""
        checkpoint()
        found = self._alike.get(term)
        if found is None:
            inputs = inputs_of(term, self.of.values, self.of.levels, self.of.updates)
            parts = (part for each in inputs.terms for part in parts_of(each))
            found = self._alike[term] = (
                inputs.complete
                and not inputs.loaded
                and not any(isinstance(part, Thread) and part.axis == self.axis for part in parts)
            )
        return found

    def _step(self, forms: Forms, access: Access) -> int:
        offset = self.of.values.offset(access, self.of.kernel.buffers[access.buffer])
        moved = access.start is not None or access.tile is not None or bool(access.rows)
        if offset is None or moved or access.guess or access.is_unplaced or access.part is not None:
            return 0
        step = 0
        for (symbols, atom), factor in forms.linear(offset).coefficients.items():
            if isinstance(atom, Thread) and atom.axis == self.axis:
                if symbols:
                    return 0
                step = factor
            elif atom is not None and not self._is_alike(atom):
                return 0
        return step
