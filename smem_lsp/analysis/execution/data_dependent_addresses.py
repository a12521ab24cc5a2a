"""Addresses that data alone decide: where a thread goes is not known, and no thread has elements of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from smem_lsp.analysis.values.free_symbols import symbols_of
from smem_lsp.analysis.values.value_facts import Exit, ValueFacts
from smem_lsp.ir.nodes import Access, AccessKind, Kernel, walk
from smem_lsp.source.record import dataclass
from smem_lsp.terms.language import Const, LoopVar, Op, OpaqueTerm, Term, parts_of


@dataclass(slots=True)
class DataAddresses:
    """The terms that are made of data and constants only. Data are values loaded through the kernel's pointers, or from
    shared memory that holds such values, and what loops count over them."""

    kernel: Kernel
    values: ValueFacts
    _ends: dict[Term, Exit] = field(init=False)
    _known: dict[Term, bool] = field(default_factory=dict)
    _filled: dict[int, bool] = field(default_factory=dict)  # buffers
    _accesses: dict[int, Access] = field(default_factory=dict)  # by point, once one is asked for

    def __post_init__(self) -> None:
        self._ends = {each.value: each for exits in self.values.exits.values() for each in exits}

    def __contains__(self, term: Term) -> bool:
        found = self._known.get(term)
        if found is None:
            parts = _leaves(term)
            found = self._known[term] = bool(parts) and all(map(self._is_data, parts))
        return found

    def _is_data(self, part: Term) -> bool:
        if not isinstance(part, OpaqueTerm):
            return False
        if part.access is not None:
            return self._is_filled(part.access)
        if part.origin == "load" and part.sources:
            return bool(symbols_of(part.sources[0]) & self.kernel.memory.pointers)
        return part in self._ends and self._is_counted(self._ends[part])

    def _is_counted(self, end: Exit) -> bool:
        """Does the loop start at a constant and then add up data?"""
        parts = _leaves(end.following)
        starts = {each.atom: each.init for loop in self.values.loops.values() for each in loop.recurrences}
        data = [part for part in parts if not isinstance(part, LoopVar)]
        begun = all(isinstance(starts.get(part), Const) for part in parts if isinstance(part, LoopVar))
        return begun and isinstance(end.init, Const) and bool(data) and all(map(self._is_data, data))

    def _is_filled(self, load: int) -> bool:
        """Does the buffer that is read at this point hold nothing but data and constants?"""
        if not self._accesses:
            self._accesses = {node.point: node for node in walk(self.kernel.body) if isinstance(node, Access)}
        number = self._accesses[load].buffer
        found = self._filled.get(number)
        if found is None:
            self._filled[number] = True  # while it is asked about: a copy of its own values changes nothing
            stores = [node for node in self._accesses.values() if node.buffer == number and node.kind.writes]
            found = self.kernel.buffers[number].seen and self._are_data(stores)
            self._filled[number] = found
        return found

    def _are_data(self, stores: Sequence[Access]) -> bool:
        stored = [self.values.stored.get(node.point) for node in stores if node.kind is AccessKind.WRITE]
        data = [term for term in stored if not isinstance(term, Const)]
        return (
            bool(data)
            and all(term is not None and term in self for term in data)
            and not any(node.plain for node in stores if node.kind is AccessKind.UPDATE)
        )


def _leaves(term: Term) -> list[Term]:
    return [part for part in parts_of(term) if not isinstance(part, Const | Op)]
