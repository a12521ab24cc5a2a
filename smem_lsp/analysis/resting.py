"""What rests on a value that the kernel is given, or on the block's place in the grid."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from smem_lsp.analysis.terms import LoopVar, Sym, Term, parts_of
from smem_lsp.analysis.values import Values


def names_in(terms: Iterable[Term]) -> frozenset[str]:
    """The symbols that some terms are made of, but for the block's shape."""
    return frozenset(
        part.name
        for part in parts_of(*terms)
        if isinstance(part, Sym) and not part.name.startswith("blockDim.")
    )


@dataclass(slots=True)
class Resting:
    """Which symbols the terms of a kernel rest on, each asked for once."""

    values: Values
    _known: dict[Term, frozenset[str]] = field(default_factory=dict)

    def rests_on(self, term: Term, names: frozenset[str]) -> bool:
        """Is a term made of one of these symbols, or of a loop variable that starts or moves by one?"""
        found = self._known.get(term)
        if found is None:
            found = self._known[term] = self._names(term)
        return not found.isdisjoint(names)

    def _names(self, term: Term) -> frozenset[str]:
        loops, found = self.values.loops, set[str]()
        seen: set[Term] = set()
        stack = [term]
        while stack:
            for part in parts_of(stack.pop()):
                if part in seen:
                    continue
                seen.add(part)
                if isinstance(part, Sym):
                    found.add(part.name)
                elif isinstance(part, LoopVar) and part.loop in loops:
                    own = (each for each in loops[part.loop].recurrences if each.atom is part)
                    stack += [each for recurrence in own for each in (recurrence.init, recurrence.next)]
        return frozenset(found)
