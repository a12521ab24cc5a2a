"""What a loop variable is in an iteration of its loop."""

from __future__ import annotations

from dataclasses import field

from smem_lsp.analysis.decision.by_number import ByNumber
from smem_lsp.analysis.decision.formulas import (
    Expression,
    number,
)
from smem_lsp.analysis.decision.unknowns import BEFORE, WITH_FIRST
from smem_lsp.analysis.values.computed_anew import computed_anew
from smem_lsp.analysis.values.few_values import advanced
from smem_lsp.analysis.values.orbits import orbit_of
from smem_lsp.analysis.values.value_facts import LoopFacts, Orbit, Recurrence
from smem_lsp.source.record import dataclass
from smem_lsp.terms.language import (
    LoopVar,
    Term,
)

_MOST_HALVES = 2048  # start of a number that is halved iteration by iteration, exactly


@dataclass(slots=True)
class LoopValues(ByNumber):
    """Loop variables by the iteration."""

    turning: dict[tuple[Term, int], Expression] = field(default_factory=dict)  # loop variables that are

    def loop_variable(self, atom: LoopVar, who: int, ahead: int) -> Expression:
        found = self._loop_variable(atom, who, ahead)
        if not ahead:
            self.turning[atom, who] = found
        return found

    def _loop_variable(self, atom: LoopVar, who: int, ahead: int) -> Expression:
        loop = self.levels.values.loops.get(atom.loop)
        moves = None if loop is None else next((r for r in loop.recurrences if r.atom is atom), None)
        if loop is None or moves is None:
            return self.free(atom, who, ahead)
        if moves.kind == "affine" and moves.by is not None:
            iteration = self.iteration_of(loop, who, ahead)
            return self.value(moves.init, who, ahead) + self.value(moves.by, who, ahead) * iteration
        if moves.kind == "geometric" and (found := self.geometric(loop, moves, who, ahead)) is not None:
            return found
        if (orbit := orbit_of(self.levels.values, loop, atom)) is not None:
            return self.repeated(loop, orbit, who, ahead)
        if moves.kind == "other" and not ahead:
            anew = computed_anew(self.levels.values.table, loop, atom)
            if anew is not None:
                return self.value(anew, who)
        if ahead != BEFORE and self.iterations.is_first(atom.loop, 0 if ahead else who):
            return self.value(moves.init, who, ahead)
        if atom.loop == self.iterations.crossed and self.iterations.next and who == 1 and not ahead:
            self.iteration(atom.loop, who)
            return self.value(moves.next, who, 1)
        return self.free(atom, who, ahead)

    def iteration_of(self, loop: LoopFacts, who: int, ahead: int) -> Expression:
        iteration = self.iteration(loop.point, 0 if ahead == WITH_FIRST else who)
        if ahead == BEFORE and loop.point == self.iterations.crossed:
            iteration = iteration - 1
        if loop.trips is not None:
            self.side.append(iteration < loop.trips)
        return iteration

    def repeated(self, loop: LoopFacts, orbit: Orbit, who: int, ahead: int) -> Expression:
        """One of the values that are taken again and again, by the iteration."""
        iteration = self.iteration_of(loop, who, ahead)
        period, start = len(orbit.repeated), len(orbit.first)
        found = self.value(orbit.repeated[-1], who, ahead)
        for index in range(period - 2, -1, -1):
            _, place = self.digits.divided(iteration - start, period)
            found = self.digits.chosen(
                place.equals(index), self.value(orbit.repeated[index], who, ahead), found
            )
        for index in range(start - 1, -1, -1):
            found = self.digits.chosen(
                iteration.equals(index), self.value(orbit.first[index], who, ahead), found
            )
        return found

    def geometric(self, loop: LoopFacts, moves: Recurrence, who: int, ahead: int) -> Expression | None:
        """One of the few values that a halved or doubled number takes, by the iteration."""
        low, high = self.bounds.interval(moves.init)
        by = None if moves.by is None else self.bounds.interval(moves.by)
        if by is None or by[0] != by[1] or low < 0:
            return None
        if low != high or low == 0:
            return self.halved(loop, moves, by[0], high, who, ahead)
        taken = [low]
        bound = self.bounds.interval(moves.atom)[1]
        while len(taken) < 34:
            following = advanced(moves.operator, taken[-1], by[0])
            if following is None or following > bound or following == taken[-1]:
                break
            taken.append(following)
        iteration = self.iteration_of(loop, who, ahead)
        self.side.append(iteration < len(taken))
        found = number(taken[-1])
        for index in range(len(taken) - 2, -1, -1):
            found = self.digits.chosen(iteration.equals(index), number(taken[index]), found)
        return found

    def halved(
        self, loop: LoopFacts, moves: Recurrence, by: int, high: int, who: int, ahead: int
    ) -> Expression | None:
        """``n``, ``n / 2``, ``n / 4``, ... by the iteration, and 0 in the end."""
        divisor = {"/": by, ">>": 1 << min(max(by, 0), 31)}.get(moves.operator, 0)
        if divisor < 2 or high > _MOST_HALVES:
            return None
        start, iteration = self.value(moves.init, who, ahead), self.iteration_of(loop, who, ahead)
        powers = [1]
        while powers[-1] * divisor <= high:
            powers.append(powers[-1] * divisor)
        found = number(0)
        for index, power in reversed(list(enumerate(powers))):
            found = self.digits.chosen(iteration.equals(index), self.digits.divided(start, power)[0], found)
        return found
