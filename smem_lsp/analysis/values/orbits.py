"""Loop variables whose value follows from the iteration: pointers that are swapped, ``buf ^= 1``, ``i = (i + 1) % 3``,
whatever else repeats, and what a loop of few iterations does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from smem_lsp.analysis.values.value_facts import LoopFacts, Orbit, Recurrence, ValueFacts
from smem_lsp.terms.language import Const, LoopVar, Op, OpaqueTerm, Term, TermTable, parts_of

_MOST_TURNS = 32
_MOST_NUMBER = (1 << 31) - 1
_MOST_PARTS = 60  # of the terms that move the variables


def orbit_of(values: ValueFacts, loop: LoopFacts, atom: LoopVar) -> Orbit | None:
    """None: the values do not repeat soon, or it is not known how the variable moves."""
    if atom not in values.orbits:
        values.orbits[atom] = _orbit_of(values.table, loop, atom)
    return values.orbits[atom]


def _orbit_of(table: TermTable, loop: LoopFacts, atom: LoopVar) -> Orbit | None:
    moves = {each.atom: each for each in loop.recurrences}
    moving = _moving(loop, moves, atom)
    if moving is None:
        return None
    state = {each: moves[each].init for each in moving}
    seen: list[dict[LoopVar, Term]] = []
    while state not in seen:
        if seen and len(seen) == loop.trips:
            values = tuple(each[atom] for each in seen)
            return Orbit(values[:-1], values[-1:])  # more iterations there are not
        if len(seen) >= _MOST_TURNS:
            return None
        seen.append(state)
        known: dict[Term, Term] = {}
        state = {each: _with(table, moves[each].next, state, known) for each in moving}
    values = tuple(each[atom] for each in seen)
    again = seen.index(state)
    return Orbit(values[:again], values[again:])


def last_value(table: TermTable, moves: Recurrence, trips: int) -> Const | None:
    """What a variable that begins as a constant is behind a loop of few iterations, ``trips``; None: something else
    decides, too, or it may wrap, which the term that it becomes need not say."""
    value: Term = moves.init
    left = trips
    while isinstance(value, Const) and abs(value.n) <= _MOST_NUMBER and trips <= _MOST_TURNS:
        if not left:
            return value
        left -= 1
        value = _with(table, moves.next, {moves.atom: value}, {})
    return None


def _moving(
    loop: LoopFacts, moves: Mapping[LoopVar, Recurrence], atom: LoopVar
) -> tuple[LoopVar, ...] | None:
    """The variables of the loop on which it depends; None: on something else that the loop changes, too."""
    found: dict[LoopVar, None] = {}
    waiting = [atom]
    while waiting:
        each = waiting.pop()
        if each in found:
            continue
        if each not in moves or len(found) > _MOST_TURNS:
            return None
        found[each] = None
        parts = list(parts_of(moves[each].next))
        if len(parts) > _MOST_PARTS or any(_is_made_inside(part, loop) for part in parts):
            return None
        waiting += _variables(parts, loop)
    return tuple(found)


def _variables(parts: Iterable[Term], loop: LoopFacts) -> list[LoopVar]:
    return [part for part in parts if isinstance(part, LoopVar) and part.loop == loop.point]


def _is_made_inside(part: Term, loop: LoopFacts) -> bool:
    if part.serial <= loop.begins or (isinstance(part, LoopVar) and part.loop == loop.point):
        return False
    return isinstance(part, OpaqueTerm | LoopVar)


def _with(table: TermTable, term: Term, state: Mapping[LoopVar, Term], known: dict[Term, Term]) -> Term:
    """The term with the values of ``state`` for the variables."""
    if isinstance(term, LoopVar):
        return state.get(term, term)
    if not isinstance(term, Op) or not any(isinstance(each, LoopVar) for each in term.carried):
        return term
    found = known.get(term)
    if found is None:
        args = (_with(table, arg, state, known) for arg in term.args)
        found = known[term] = table.op(term.operator, *args, reading=term.reading)
    return found
