"""What a load from shared memory may find: other values in other places, or one value everywhere.

Two threads that store what they have loaded store different things if the buffer they load from holds different things:
what threads have put there is made of their numbers or of loaded values, or nobody has put anything there. Where all
that is stored is the same for the whole block (``s[i] = 0``), what is loaded may be the same, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property

from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.causes import Opens
from smem_lsp.ir.nodes import Access, Kernel, walk
from smem_lsp.source import record
from smem_lsp.source.record import dataclass
from smem_lsp.terms.language import OpaqueTerm, Term, Thread, parts_of


@record
class BytePlace:
    """``buffer``: its number; ``offset``: in bytes; ``end``: of the buffer, None: not known."""

    buffer: int
    offset: Term
    end: int | None


@dataclass
class SharedContents:
    """Of the buffers of one kernel."""

    kernel: Kernel
    values: ValueFacts
    _known: dict[int, bool] = field(default_factory=dict)

    def place(self, term: OpaqueTerm) -> BytePlace | None:
        """Where it was loaded from; None: not known, or every place may hold the same."""
        access = self._accesses.get(-1 if term.access is None else term.access)
        if access is None or access.is_unplaced or access.guess or not self._varies(access.buffer):
            return None
        buffer = self.kernel.buffers[access.buffer]
        offset = self.values.offset(access, buffer)
        return None if offset is None else BytePlace(access.buffer, offset, buffer.bytes)

    @cached_property
    def _accesses(self) -> Mapping[int, Access]:
        return {node.point: node for node in walk(self.kernel.body) if isinstance(node, Access)}

    def _varies(self, buffer: int) -> bool:
        known = self._known.get(buffer)
        if known is None:
            self._known[buffer] = False  # what is copied inside of a buffer makes nothing new
            known = self._known[buffer] = self._is_varied(buffer)
        return known

    def _is_varied(self, buffer: int) -> bool:
        writes = [each for each in self._accesses.values() if each.buffer == buffer and each.kind.writes]
        if not writes:
            kernel = self.kernel
            seen = kernel.buffers[buffer].seen and kernel.complete
            return seen and not (kernel.opaque or kernel.open(Opens.ACCESSES | Opens.ANYTHING))
        return any(each.asynchronous or self._stores_many(each) for each in writes)

    def _stores_many(self, write: Access) -> bool:
        stored = self.values.stored.get(write.point)
        if stored is None:
            return False
        for part in parts_of(stored):
            if isinstance(part, Thread):
                return True
            if isinstance(part, OpaqueTerm) and part.origin == "load":
                if part.access is None and any(isinstance(each, Thread) for each in parts_of(*part.sources)):
                    return True
                place = None if part.access is None else self._accesses.get(part.access)
                if place is not None and place.buffer != write.buffer and self._varies(place.buffer):
                    return True
        return False
