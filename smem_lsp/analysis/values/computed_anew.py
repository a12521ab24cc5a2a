"""Loop variables that are computed anew from others in each iteration: ``more = any(i < n)`` before a loop and at its
end.

What is computed from the numbers before the loop, and from those of the next iteration, is computed from those of each
iteration.
"""

from __future__ import annotations

from collections.abc import Mapping

from smem_lsp.analysis.values.value_facts import LoopFacts
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.terms.language import LoopVar, Op, Term, TermTable, parts_of
from smem_lsp.terms.operators import OperandType

_MOST_PARTS = 60  # of the term


def computed_anew(table: TermTable, loop: LoopFacts, atom: LoopVar) -> Term | None:
    """The term of the other variables of the loop that ``atom`` is in every iteration; None: there is none."""
    moves = next((each for each in loop.recurrences if each.atom is atom), None)
    if moves is None or not isinstance(moves.init, Op) or not isinstance(moves.next, Op):
        return None
    others = {(each.init, each.next): each.atom for each in loop.recurrences if each.atom is not atom}
    return _Iterations(table, loop, others).term(moves.init, moves.next)


@dataclass(slots=True)
class _Iterations:
    """``others``: variables of the loop by what they are before it, and in the next iteration."""

    table: TermTable
    loop: LoopFacts
    others: Mapping[tuple[Term, Term], LoopVar]
    left: int = _MOST_PARTS

    def term(self, before: Term, following: Term) -> Term | None:
        """What is ``before`` the loop and ``following`` in the next iteration, in each iteration."""
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


def _reading_of_both(table: TermTable, one: Op, other: Op) -> OperandType | None:
    """The type that both read their operands as: one that cannot be below zero says none."""
    if one.reading is other.reading:
        return one.reading
    for each, known in ((one, other), (other, one)):
        if each.reading is OperandType.UNKNOWN and not any(map(table.may_leave, each.args)):
            return known.reading
    return None
