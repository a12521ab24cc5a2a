"""Loop variables that are computed anew from others in each turn: ``more = any(i < n)`` before a loop and at its end.

What is computed from the numbers before the loop, and from those of the next turn, is computed from those of each turn.
"""

from __future__ import annotations

from collections.abc import Mapping

from smem_lsp.analysis.values.terms import LoopVar, Op, Table, Term, parts_of
from smem_lsp.analysis.values.value_facts import LoopFacts
from smem_lsp.ir.values import Reading
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass

_MOST_PARTS = 60  # of the term


def computed_anew(table: Table, loop: LoopFacts, atom: LoopVar) -> Term | None:
    """The term of the other variables of the loop that ``atom`` is in every turn; None: there is none."""
    moves = next((each for each in loop.recurrences if each.atom is atom), None)
    if moves is None or not isinstance(moves.init, Op) or not isinstance(moves.next, Op):
        return None
    others = {(each.init, each.next): each.atom for each in loop.recurrences if each.atom is not atom}
    return _Turns(table, loop, others).term(moves.init, moves.next)


@dataclass(slots=True)
class _Turns:
    """``others``: variables of the loop by what they are before it, and in the next turn."""

    table: Table
    loop: LoopFacts
    others: Mapping[tuple[Term, Term], LoopVar]
    left: int = _MOST_PARTS

    def term(self, before: Term, following: Term) -> Term | None:
        """What is ``before`` the loop and ``following`` in the next turn, in each turn."""
        checkpoint()
        self.left -= 1
        other = self.others.get((before, following))
        if other is not None:
            return other
        if before is following:
            parts = parts_of(before)
            changes = any(isinstance(each, LoopVar) and each.loop == self.loop.point for each in parts)
            steady = before.known or before.serial <= self.loop.begins
            return before if steady and not changes else None
        if not (isinstance(before, Op) and isinstance(following, Op)) or self.left <= 0:
            return None
        reading = _reading_of_both(self.table, before, following)
        if (
            before.operator != following.operator
            or len(before.args) != len(following.args)
            or reading is None
        ):
            return None
        args = [self.term(one, other) for one, other in zip(before.args, following.args)]
        found = [each for each in args if each is not None]
        return None if len(found) < len(args) else self.table.op(before.operator, *found, reading=reading)


def _reading_of_both(table: Table, one: Op, other: Op) -> Reading | None:
    """The type that both read their operands as: one that cannot be below zero says none."""
    if one.reading is other.reading:
        return one.reading
    for each, known in ((one, other), (other, one)):
        if each.reading is Reading.UNKNOWN and not any(map(table.may_fall, each.args)):
            return known.reading
    return None
