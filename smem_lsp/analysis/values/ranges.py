"""Bounds of terms that hold for every block that can be launched, or for every block of a known shape.

Counters are assumed not to overflow: a signed one must not (C++), and an unsigned one would have to start within one
step of 2**32.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from smem_lsp.analysis.values.value_facts import LoopFacts, Recurrence
from smem_lsp.source.budget import pause, uncounted
from smem_lsp.source.integers import MIRRORED, NEGATED
from smem_lsp.source.record import dataclass
from smem_lsp.targets.every import MAX_BLOCK, MAX_GRID
from smem_lsp.terms.bit_functions import MOST
from smem_lsp.terms.intervals import ANY, INFINITE, Interval, all_ones, narrowed, of_one, of_two, wrapped
from smem_lsp.terms.language import Const, Level, LoopVar, Op, OpaqueTerm, Sym, Term, Thread, parts_of
from smem_lsp.terms.operators import OperandType

_MOST_ASSUMED = 3  # variables of loops whose bounds are guessed at once
_MOST_ATTEMPTS = 6  # to find bounds that a loop keeps


@dataclass(slots=True)
class Bounds:
    """``upper``: threads at most in x, y, z; ``exact``: they are the dimensions of the block; ``given``: bounds that
    hold of these terms where the result is used."""

    loops: Mapping[int, LoopFacts]
    upper: tuple[int, int, int] = MAX_BLOCK
    exact: bool = False
    _known: dict[Term, Interval] = field(default_factory=dict)
    _open: set[Term] = field(default_factory=set)
    given: Mapping[Term, Interval] = field(default_factory=dict)
    _assumed: Mapping[Term, Interval] = field(default_factory=dict)  # that iterations of loops are to keep

    def interval(self, term: Term) -> Interval:
        """(at least, at most), inclusive."""
        pause()
        found = self._known.get(term)
        if found is None:
            low, high = term.fold(self)
            found = (max(low, -INFINITE), min(high, INFINITE)) if low <= high else ANY
            if term in self.given:
                least, most = self.given[term]
                both = max(found[0], least), min(found[1], most)
                found = both if both[0] <= both[1] else found
            self._known[term] = found
        return found

    def constant(self, term: Const) -> Interval:
        return term.n, term.n

    def thread(self, term: Thread) -> Interval:
        axis = "xyz".find(term.axis)
        return (0, self.upper[axis] - 1) if axis >= 0 else ANY

    def symbol(self, term: Sym) -> Interval:
        return self.of_symbol(term.name)

    def opaque(self, term: OpaqueTerm) -> Interval:
        """Behind a loop: as one of its iterations leaves it, or as before it."""
        ends = [self.interval(each) for each in term.sources[: term.one_of]]
        return (min(low for low, _ in ends), max(high for _, high in ends)) if ends else ANY

    def of_symbol(self, name: str) -> Interval:
        """Of a parameter, or of the block or the grid: ``blockDim.x``."""
        vector, _, member = name.rpartition(".")
        axis = "xyz".find(member) if len(member) == 1 else -1
        if axis < 0:
            return ANY
        if vector == "blockDim":
            return (self.upper[axis] if self.exact else 1), self.upper[axis]
        if vector == "gridDim":
            return 1, MAX_GRID[axis]
        return (0, MAX_GRID[axis] - 1) if vector == "blockIdx" else ANY

    def operation(self, term: Op) -> Interval:
        name = term.operator
        if name == "?:":
            yes, no = (
                self._arm(term.args[1], term.args[0], True),
                self._arm(term.args[2], term.args[0], False),
            )
            return min(yes[0], no[0]), max(yes[1], no[1])
        if len(term.args) == 1:
            return (0, MOST[name]) if name in MOST else of_one(name, self.interval(term.args[0]))
        if len(term.args) != 2:
            return ANY
        a, b = self.interval(term.args[0]), self.interval(term.args[1])
        mask = term.reading.mask
        if mask is not None:
            a, b = wrapped(a, mask), b if name == ">>" else wrapped(b, mask)
        found = of_two(name, a, b, signed=mask is None and term.reading is not OperandType.UNKNOWN)
        return self._in_block(term, found) if name in ("+", "-") and not self.exact else found

    def _arm(self, arm: Term, condition: Term, holds: bool) -> Interval:
        """Bounds of a value that is taken where a condition holds, or does not: ``i + 1 == 3 ? 0 : i + 1``."""
        if not (arm.carried and isinstance(condition, Op) and condition.operator in NEGATED):
            return self.interval(arm)
        asked, other = condition.args
        name = condition.operator if holds else NEGATED[condition.operator]
        before, beside = self.interval(asked), self.interval(other)
        if condition.reading.mask is not None and min(before[0], beside[0]) < 0:
            return self.interval(arm)  # compared as what they are modulo 2**32
        low, high = narrowed(before, name, beside)
        if low > high or (low, high) == before:
            return self.interval(arm)
        known: dict[Term, Interval] = {t: v for t, v in self._known.items() if isinstance(t, LoopVar)}
        known[asked] = low, high
        inside = Bounds(self.loops, self.upper, self.exact, known, self._open, self.given, self._assumed)
        return inside.interval(arm)

    def _in_block(self, term: Op, found: Interval) -> Interval:
        """Bounds of a sum in which a size of the block and the number of a thread below it stand against each other:
        ``blockDim.x - 1 - threadIdx.x`` is never negative."""
        if term.level != Level.THREAD or found[0] >= 0:
            return found
        parts: dict[Term, int] = {}
        _summands(term, 1, parts)
        low, high = 0, 0
        for axis, most in zip("xyz", self.upper):
            number = next((each for each in parts if isinstance(each, Thread) and each.axis == axis), None)
            size = next(
                (each for each in parts if isinstance(each, Sym) and each.name == f"blockDim.{axis}"), None
            )
            if number is None or size is None or parts[number] * parts[size] >= 0:
                continue
            sign = 1 if parts[size] > 0 else -1
            times = min(
                abs(parts[number]), abs(parts[size])
            )  # of the size minus the number: from 1 to the size
            parts[size] -= sign * times
            parts[number] += sign * times
            low, high = (low + times, high + times * most) if sign > 0 else (low - times * most, high - times)
        for each, n in parts.items():
            ends = [n * end for end in self.interval(each)] if n else [0]
            low, high = low + min(ends), high + max(ends)
        return max(found[0], low), min(found[1], high)

    def loop_variable(self, term: LoopVar) -> Interval:
        with uncounted():
            return self._loop_variable(term)

    def _loop_variable(self, atom: LoopVar) -> Interval:
        facts = self.loops.get(atom.loop)
        mine = None if facts is None else next((r for r in facts.recurrences if r.atom is atom), None)
        if facts is None or mine is None or atom in self._open:
            return ANY
        self._open.add(atom)
        try:
            low, high = self._recurrence(mine)
            if facts.tested:
                low, high = self._stepped(mine, self._tested(facts.head, atom, low, high))
        finally:
            self._open.discard(atom)
        return low, high

    def _stepped(self, mine: Recurrence, bounds: Interval) -> Interval:
        """``for (r = 0; r < 32; r += 8)`` ends with 24."""
        (first, last), (low, high) = self.interval(mine.init), bounds
        by = ANY if mine.by is None else self.interval(mine.by)
        if mine.kind != "affine" or first != last or by[0] != by[1] or not by[0]:
            return bounds
        step = by[0]
        if step > 0 and first <= high < INFINITE:
            return low, high - (high - first) % step
        if step < 0 and -INFINITE < low <= first:
            return low + (first - low) % -step, high
        return bounds

    def _recurrence(self, mine: Recurrence) -> Interval:
        first = self.interval(mine.init)
        by = ANY if mine.by is None else self.interval(mine.by)
        if mine.kind == "affine":
            return (first[0] if by[0] >= 0 else -INFINITE), (first[1] if by[1] <= 0 else INFINITE)
        if mine.kind == "geometric" and first[0] >= 0:
            if mine.operator == ">>" or (mine.operator == "/" and by[0] >= 1):
                return 0, first[1]
            if mine.operator == "<<" or (mine.operator == "*" and by[0] >= 1):
                return first[0], INFINITE
        if mine.kind == "involution":
            if mine.operator == "^" and min(first[0], by[0]) >= 0:
                return 0, all_ones(max(first[1], by[1]))
            if mine.operator == "-" and by[0] == by[1]:
                return min(first[0], by[0] - first[1]), max(first[1], by[0] - first[0])
        return self._kept(mine, first) if mine.kind == "other" else ANY

    def _kept(self, mine: Recurrence, guess: Interval) -> Interval:
        """Bounds that hold at first and that an iteration keeps: of ``i = (i + 1) % 2`` 0 and 1."""
        edges = sorted(
            {each.n - less for each in parts_of(mine.next) if isinstance(each, Const) for less in (0, 1)}
        )
        for attempt in range(_MOST_ATTEMPTS):
            assumed = {**self._assumed, mine.atom: guess}
            known = {**{t: v for t, v in self._known.items() if not t.carried}, **assumed}
            # what is asked for may start from this variable: under the guess it is asked for anew
            unsettled = set[Term]() if len(assumed) <= _MOST_ASSUMED else self._open
            inside = Bounds(self.loops, self.upper, self.exact, known, unsettled, {}, assumed)
            low, high = inside.interval(mine.next)
            if guess[0] <= low and high <= guess[1]:
                return guess
            low, high = min(low, guess[0]), max(high, guess[1])
            if attempt:  # what still moves has no bound
                low = -INFINITE if low < guess[0] else low
                high = next((each for each in edges if each >= high), INFINITE) if high > guess[1] else high
            guess = low, high
        return ANY

    def _tested(self, condition: Term, atom: LoopVar, low: int, high: int) -> Interval:
        """Bounds under a condition that holds in every iteration."""
        if not isinstance(condition, Op) or len(condition.args) != 2:
            return low, high
        a, b = condition.args
        name = condition.operator
        if name == "&&":
            low, high = self._tested(a, atom, low, high)
            return self._tested(b, atom, low, high)
        if b is atom:
            a, b, name = b, a, MIRRORED.get(name, "")
        if a is not atom:
            return low, high
        other = self.interval(b)
        if name in ("==", "!=") and min(low, other[0]) < 0:
            return low, high  # an unsigned type may read them as equal
        return narrowed((low, high), name, other)


def _summands(term: Term, times: int, into: dict[Term, int]) -> None:
    """Adds what a sum consists of: each part, and how often."""
    if isinstance(term, Op) and term.operator in ("+", "-"):
        _summands(term.args[0], times, into)
        _summands(term.args[1], times if term.operator == "+" else -times, into)
    elif isinstance(term, Op) and term.operator == "*" and isinstance(term.args[1], Const):
        _summands(term.args[0], times * term.args[1].n, into)
    else:
        into[term] = into.get(term, 0) + times
