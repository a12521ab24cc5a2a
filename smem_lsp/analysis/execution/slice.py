"""The slice of a kernel's loop variables: those on which a value depends that a run of a block asks for (Weiser,
"Program Slicing", 1981)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace

from smem_lsp.analysis.values.value_facts import Exit, LoopFacts, Recurrence, ValueFacts
from smem_lsp.source import checkpoint, record
from smem_lsp.source.record import dataclass
from smem_lsp.terms.language import LoopVar, Op, OpaqueTerm, Term, parts_of


@dataclass(slots=True)
class UnknownTerms:
    """Terms that have no value in any run of a block, because they are made of a loaded or lost value."""

    values: ValueFacts
    _moves: dict[Term, Recurrence] = field(init=False)
    _ends: frozenset[Term] = field(init=False)
    _known: dict[Term, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._moves = _moves(self.values)
        self._ends = frozenset(_ends(self.values))

    def __contains__(self, term: Term) -> bool:
        found = self._known.get(term)
        if found is None:
            self._known[term] = False  # while its loop's own variables are asked about
            found = self._known[term] = self._asked(term)
        return found

    def _asked(self, term: Term) -> bool:
        if isinstance(term, OpaqueTerm):
            return term not in self._ends
        if isinstance(term, LoopVar):
            return term in self._moves and self._moves[term].init in self
        if not isinstance(term, Op):
            return False
        if term.operator in ("?:", "&&", "||"):
            return term.args[0] in self  # the others may not count
        return any(arg in self for arg in term.args)


@record
class Slice:
    """``loops``: point of a loop -> its facts, with only the variables in the slice; ``exits``: point of a loop -> what
    it leaves in variables that are used behind it."""

    loops: Mapping[int, LoopFacts]
    exits: Mapping[int, tuple[Exit, ...]]


def slice_of(values: ValueFacts, loops: Iterable[int], asked: Iterable[Term]) -> Slice:
    """``loops``: points of the loops that are run; ``asked``: terms whose values a run asks for, besides those that
    decide how these loops go on."""
    running = [values.loops[point] for point in loops]
    moves, ends = _moves(values), _ends(values)
    seen: set[Term] = set()
    waiting = [*asked, *(term for loop in running for term in (loop.first, loop.head, loop.again))]
    while waiting:
        checkpoint()
        fresh = [part for part in parts_of(*waiting) if part not in seen]
        seen.update(fresh)
        waiting = []
        for part in fresh:
            if isinstance(part, LoopVar) and part in moves:
                waiting += (moves[part].init, moves[part].next)
            elif isinstance(part, OpaqueTerm):
                end = ends.get(part)
                waiting += part.sources if end is None else (end.init, end.following)
    return Slice(
        {loop.point: _with(loop, seen) for loop in running},
        {
            point: kept
            for point, exits in values.exits.items()
            if (kept := tuple(each for each in exits if each.value in seen))
        },
    )


def _moves(values: ValueFacts) -> dict[Term, Recurrence]:
    """How each loop variable moves."""
    return {each.atom: each for loop in values.loops.values() for each in loop.recurrences}


def _ends(values: ValueFacts) -> dict[Term, Exit]:
    """What each value behind a loop is."""
    return {each.value: each for exits in values.exits.values() for each in exits}


def _with(loop: LoopFacts, seen: set[Term]) -> LoopFacts:
    kept = tuple(each for each in loop.recurrences if each.atom in seen)
    return loop if len(kept) == len(loop.recurrences) else replace(loop, recurrences=kept)
