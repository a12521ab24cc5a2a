"""What values rest on that threads load and compute with, in ways that are not followed."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import field
from enum import Flag

from smem_lsp.analysis.threads.uniformity import Levels
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.source import checkpoint
from smem_lsp.source.integers import OPERATORS
from smem_lsp.source.record import dataclass
from smem_lsp.terms.language import LoopVar, Op, OpaqueTerm, Term, Thread

_MOST = 200  # terms that are gone through


@dataclass(slots=True)
class Inputs:
    """``terms``: what is followed and differs between threads, of all that the value rests on; ``loaded``: some of it
    is loaded; ``turning``: a loop has a part in it; ``complete``: all of it is known, and no other thread has a hand in
    it; ``placed``: it is known of all that is loaded whether two threads load it from one place."""

    terms: list[Term] = field(default_factory=list)
    loaded: bool = False
    turning: bool = False
    complete: bool = True
    placed: bool = True


def inputs_of(
    value: Term, values: ValueFacts, levels: Levels, updates: Collection[int] = frozenset()
) -> Inputs:
    """Of a value that is not followed: through loads, arithmetic, functions and loops. Two threads with the same
    ``terms`` have the same value, as long as nobody writes what they load. ``updates``: accesses (points) whose results
    other threads have a hand in."""
    found, differing = Inputs(), _Differing(value, values, levels)
    for term in differing:
        if len(differing.seen) > _MOST:
            found.complete = False
            break
        if term.known and not term.carried:
            found.terms.append(term)
        elif differing.goes_round(term):
            found.turning = True
        elif isinstance(term, OpaqueTerm) and term.origin == "load":
            address = None if term.access is None else values.address(term.access)
            place = term.sources or address or ()
            found.loaded = True
            found.complete = found.complete and bool(place) and term.access not in updates
            found.placed = found.placed and not any(
                made_of(each, values, levels, updates) is MadeOf.UNKNOWN for each in place
            )
            differing.left += place
        elif (operands := _operands(term)) is not None:
            differing.left += operands
        else:
            found.complete = False
    return found


class MadeOf(Flag):
    """What a value that differs between threads is made of, as far as nothing is loaded."""

    OF_DATA = 0  # of no more than what is loaded, and of what the block agrees on
    BY_NUMBER = 1  # the number of the thread has a part in it
    UNKNOWN = 2  # something that is not followed has
    EXCHANGED = 4  # lanes of a warp exchange something, and may have the same then


def made_of(
    value: Term, values: ValueFacts, levels: Levels, updates: Collection[int] = frozenset()
) -> MadeOf:
    """``updates``: as in ``inputs_of``; what is found in a counter tells threads from each other as numbers do."""
    found, differing = MadeOf.OF_DATA, _Differing(value, values, levels)
    for term in differing:
        if len(differing.seen) > _MOST or isinstance(term, Thread):
            found |= MadeOf.BY_NUMBER
        elif differing.goes_round(term):
            pass
        elif isinstance(term, OpaqueTerm) and term.origin == "load":
            found |= MadeOf.BY_NUMBER if term.access in updates else MadeOf.OF_DATA
        elif isinstance(term, Op):
            found |= MadeOf.EXCHANGED if term.operator.endswith("_sync()") else MadeOf.OF_DATA
            differing.left += term.args
        elif isinstance(term, OpaqueTerm) and term.sources:
            differing.left += term.sources
        else:
            found |= MadeOf.UNKNOWN
        if MadeOf.BY_NUMBER in found:
            break
    return found


class _Differing:
    """What a value is made of, as far as it differs between threads, each term once. Whoever goes through it adds to
    what is ``left`` what a term is made of in turn."""

    __slots__ = ("left", "levels", "moves", "seen", "values")

    def __init__(self, value: Term, values: ValueFacts, levels: Levels) -> None:
        self.values = values
        self.levels = levels
        self.left = [value]
        self.seen = set[Term]()
        self.moves = {each.atom: each for loop in values.loops.values() for each in loop.recurrences}

    def __iter__(self) -> Iterator[Term]:
        while self.left:
            checkpoint()
            term = self.left.pop()
            if term not in self.seen and not self.levels.uniform(term):
                self.seen.add(term)
                yield term

    def goes_round(self, term: Term) -> bool:
        """Does a loop change it from iteration to iteration? What it begins with and goes on with is left then, and
        what decides how many iterations there are."""
        if not isinstance(term, LoopVar) or term not in self.moves:
            return False
        loop, moves = self.values.loops[term.loop], self.moves[term]
        self.left += (moves.init, moves.next, loop.first, loop.again, *loop.exits)
        return True


def _operands(term: Term) -> tuple[Term, ...] | None:
    """What a value is computed of, and nothing else has a part in; None: that is not known."""
    if isinstance(term, Op):
        return term.args if _is_computed(term.operator) else None
    if isinstance(term, OpaqueTerm) and term.origin in ("lost", "exit"):
        return term.sources or None
    return None


def _is_computed(operator: str) -> bool:
    """Does it look at its operands only?"""
    called = operator.endswith("()") and not operator.endswith("_sync()")
    return called or operator in OPERATORS or operator.startswith(".")
