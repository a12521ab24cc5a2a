"""What rests on a value that the kernel is given, or on the block's place in the grid."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from smem_lsp.analysis.terms import LoopVar, Sym, Term, parts_of
from smem_lsp.analysis.values import Values


def names_in(terms: Iterable[Term]) -> frozenset[str]:
    """The symbols that some terms are made of, but for the block's shape."""
    return frozenset(
        part.name
        for part in parts_of(*terms)
        if isinstance(part, Sym) and not part.name.startswith("blockDim.")
    )


def rests_on(term: Term, names: Collection[str], values: Values) -> bool:
    """Is a term made of one of these symbols, or of a loop variable that starts or moves by one?"""
    seen: set[Term] = set()
    stack = [term]
    while stack:
        for part in parts_of(stack.pop()):
            if part in seen:
                continue
            seen.add(part)
            if isinstance(part, Sym) and part.name in names:
                return True
            if isinstance(part, LoopVar) and part.loop in values.loops:
                own = (each for each in values.loops[part.loop].recurrences if each.atom is part)
                stack += [each for recurrence in own for each in (recurrence.init, recurrence.next)]
    return False
