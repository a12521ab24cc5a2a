"""Bounds of terms that hold for every block that can be launched, or for every block of a known shape.

Counters are assumed not to overflow: a signed one must not (C++), and an unsigned one would have to start within one
step of 2**32.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

from smem_lsp.analysis.values.bit_functions import MOST
from smem_lsp.analysis.values.terms import Const, Level, LoopVar, Op, Opaque, Sym, Term, Thread, parts_of
from smem_lsp.analysis.values.value_facts import LoopFacts, Recurrence
from smem_lsp.ir.values import Reading
from smem_lsp.source.budget import pause, uncounted
from smem_lsp.source.integers import MIRRORED, NEGATED
from smem_lsp.source.record import dataclass
from smem_lsp.targets.every import MAX_BLOCK, MAX_GRID

INFINITE = 1 << 64  # at or beyond it: unbounded
Interval = tuple[int, int]

ANY: Interval = (-INFINITE, INFINITE)
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
    _assumed: Mapping[Term, Interval] = field(default_factory=dict)  # that turns of loops are to keep

    def interval(self, term: Term) -> Interval:
        """(at least, at most), inclusive."""
        pause()
        found = self._known.get(term)
        if found is None:
            low, high = self._interval(term)
            found = (max(low, -INFINITE), min(high, INFINITE)) if low <= high else ANY
            if term in self.given:
                least, most = self.given[term]
                both = max(found[0], least), min(found[1], most)
                found = both if both[0] <= both[1] else found
            self._known[term] = found
        return found

    def _interval(self, term: Term) -> Interval:
        if isinstance(term, Const):
            return term.n, term.n
        if isinstance(term, Thread):
            axis = "xyz".find(term.axis)
            return (0, self.upper[axis] - 1) if axis >= 0 else ANY
        if isinstance(term, Sym):
            return self.of_symbol(term.name)
        if isinstance(term, LoopVar):
            with uncounted():
                return self._loop_variable(term)
        if (
            isinstance(term, Opaque) and term.one_of
        ):  # behind a loop: as one of its turns leaves it, or as before it
            ends = [self.interval(each) for each in term.sources[: term.one_of]]
            return min(low for low, _ in ends), max(high for _, high in ends)
        return self._operation(term) if isinstance(term, Op) else ANY

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

    def _operation(self, term: Op) -> Interval:
        name = term.operator
        if name == "?:":
            yes, no = (
                self._arm(term.args[1], term.args[0], True),
                self._arm(term.args[2], term.args[0], False),
            )
            return min(yes[0], no[0]), max(yes[1], no[1])
        if len(term.args) == 1:
            if name in MOST:
                return 0, MOST[name]
            low, high = self.interval(term.args[0])
            if name == "neg":
                return -high, -low
            return (-high - 1, -low - 1) if name == "~" else _opposite((low, high)) if name == "!" else ANY
        if len(term.args) != 2:
            return ANY
        a, b = self.interval(term.args[0]), self.interval(term.args[1])
        mask = term.reading.mask
        if mask is not None:
            a, b = _wrapped(a, mask), b if name == ">>" else _wrapped(b, mask)
        if name == "<<" and a[0] >= 0:
            b = max(b[0], 0), max(b[1], 0)  # nothing is shifted by less, nor out of its type
        if name in _COMPARED:
            return _COMPARED[name](a, b)
        if name in ("&&", "||"):
            return _logic(name, _truth(a), _truth(b))
        signed = mask is None and term.reading is not Reading.UNKNOWN
        found = _signed(name, a, b) if signed and a[0] < 0 <= b[0] else _arithmetic(name, a, b)
        return self._in_block(term, found) if name in ("+", "-") and not self.exact else found

    def _arm(self, arm: Term, condition: Term, holds: bool) -> Interval:
        """Bounds of a value that is taken where a condition holds, or does not: ``i + 1 == 3 ? 0 : i + 1``."""
        if not (arm.carried and isinstance(condition, Op) and condition.operator in NEGATED):
            return self.interval(arm)
        asked, other = condition.args
        name = condition.operator if holds else NEGATED[condition.operator]
        low, high = self.interval(asked)
        least, most = self.interval(other)
        if condition.reading.mask is not None and min(low, least) < 0:
            return self.interval(arm)  # compared as what they are modulo 2**32
        if name in ("<", "<="):
            high = min(high, most - (name == "<"))
        elif name in (">", ">="):
            low = max(low, least + (name == ">"))
        elif name == "==":
            low, high = max(low, least), min(high, most)
        elif least == most:
            low, high = low + (low == least), high - (high == most)
        if low > high or (low, high) == self.interval(asked):
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
                return 0, _all_ones(max(first[1], by[1]))
            if mine.operator == "-" and by[0] == by[1]:
                return min(first[0], by[0] - first[1]), max(first[1], by[0] - first[0])
        return self._kept(mine, first) if mine.kind == "other" else ANY

    def _kept(self, mine: Recurrence, guess: Interval) -> Interval:
        """Bounds that hold at first and that a turn keeps: of ``i = (i + 1) % 2`` 0 and 1."""
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
        if name in ("<", "<="):
            return low, min(high, other[1] - (name == "<"))
        if name in (">", ">="):
            return max(low, other[0] + (name == ">")), high
        if name == "!=" and other == (0, 0) and low == 0:
            return 1, high
        return low, high


def _summands(term: Term, times: int, into: dict[Term, int]) -> None:
    """Adds what a sum consists of: each part, and how often."""
    if isinstance(term, Op) and term.operator in ("+", "-"):
        _summands(term.args[0], times, into)
        _summands(term.args[1], times if term.operator == "+" else -times, into)
    elif isinstance(term, Op) and term.operator == "*" and isinstance(term.args[1], Const):
        _summands(term.args[0], times * term.args[1].n, into)
    else:
        into[term] = into.get(term, 0) + times


def _truth(a: Interval) -> Interval:
    if a == (0, 0):
        return 0, 0
    return (1, 1) if a[0] > 0 or a[1] < 0 else (0, 1)


def _opposite(a: Interval) -> Interval:
    low, high = _truth(a)
    return 1 - high, 1 - low


def _logic(name: str, a: Interval, b: Interval) -> Interval:
    pick = min if name == "&&" else max
    return pick(a[0], b[0]), pick(a[1], b[1])


def _less(a: Interval, b: Interval) -> Interval:
    return int(a[1] < b[0]), int(a[0] < b[1])


def _equal(a: Interval, b: Interval) -> Interval:
    same = a == b and a[0] == a[1]
    return int(same), int(a[0] <= b[1] and b[0] <= a[1])


_COMPARED: dict[str, Callable[[Interval, Interval], Interval]] = {
    "<": _less,
    ">": lambda a, b: _less(b, a),
    "<=": lambda a, b: _opposite(_less(b, a)),
    ">=": lambda a, b: _opposite(_less(a, b)),
    "==": _equal,
    "!=": lambda a, b: _opposite(_equal(a, b)),
}


def _sum(a: Interval, b: Interval) -> Interval:
    return a[0] + b[0], a[1] + b[1]


def _difference(a: Interval, b: Interval) -> Interval:
    return a[0] - b[1], a[1] - b[0]


def _product(a: Interval, b: Interval) -> Interval:
    corners = [x * y for x in a for y in b]
    return min(corners), max(corners)


def _smaller(a: Interval, b: Interval) -> Interval:
    return min(a[0], b[0]), min(a[1], b[1])


def _larger(a: Interval, b: Interval) -> Interval:
    return max(a[0], b[0]), max(a[1], b[1])


def _masked(a: Interval, b: Interval) -> Interval:
    """``a & b``, which is not negative if either side is not."""
    for side, mask in ((a, b), (b, a)):
        if _rounds_down(mask) and side[0] >= 0 and side[1] < INFINITE:
            return side[0] & mask[0], side[1] & mask[0]
    highs = [side[1] for side in (a, b) if side[0] >= 0]
    return (0, min(highs)) if highs else ANY


def _rounds_down(mask: Interval) -> bool:
    """Is it one negative number that masks all but the lowest bits: down to a multiple of a power of two?"""
    low, high = mask
    return low == high < 0 and -low & -low - 1 == 0


def _quotient(a: Interval, b: Interval) -> Interval:
    return (a[0] // max(b[1], 1), a[1] // max(b[0], 1)) if a[1] < INFINITE else (0, INFINITE)


def _remainder(a: Interval, b: Interval) -> Interval:
    if b[1] <= 0:
        return ANY
    return a if a[1] < b[0] else (0, min(a[1], b[1] - 1))


def _shifted_right(a: Interval, b: Interval) -> Interval:
    return (a[0] >> min(b[1], 63), a[1] >> min(b[0], 63)) if a[1] < INFINITE else (0, INFINITE)


def _shifted_left(a: Interval, b: Interval) -> Interval:
    return a[0] << min(b[0], 63), a[1] << min(b[1], 63)


def _bits_of_either(a: Interval, b: Interval) -> Interval:
    return max(a[0], b[0]), _all_ones(max(a[1], b[1]))


def _bits_of_one(a: Interval, b: Interval) -> Interval:
    return 0, _all_ones(max(a[1], b[1]))


_OF_INTEGERS: dict[str, Callable[[Interval, Interval], Interval]] = {
    "+": _sum,
    "-": _difference,
    "*": _product,
    "min": _smaller,
    "max": _larger,
    "&": _masked,
}
_OF_NATURALS: dict[str, Callable[[Interval, Interval], Interval]] = {
    "/": _quotient,
    "%": _remainder,
    ">>": _shifted_right,
    "<<": _shifted_left,
    "|": _bits_of_either,
    "^": _bits_of_one,
}


def _arithmetic(name: str, a: Interval, b: Interval) -> Interval:
    """An operation on two numbers, where its bounds are known of all numbers or both are not negative."""
    computed = _OF_INTEGERS.get(name)
    if computed is None and a[0] >= 0 and b[0] >= 0:
        computed = _OF_NATURALS.get(name)
    return ANY if computed is None else computed(a, b)


def _wrapped(a: Interval, mask: int) -> Interval:
    """As an unsigned type reads it that makes ``mask`` of -1."""
    if a[0] >= 0:
        return a
    return (a[0] + mask + 1, a[1] + mask + 1) if -mask <= a[0] and a[1] < 0 else (0, mask)


def _signed(name: str, a: Interval, b: Interval) -> Interval:
    """An operation that rounds, of a signed number that may be negative and one that is not."""
    if name == "/":
        return _quotients(a[0], b)[0], _quotients(a[1], b)[1]
    if name == "%":
        most = max(b[1] - 1, 0)
        return max(a[0], -most), min(max(a[1], 0), most)
    if name == ">>":
        least, largest = min(b[0], 63), min(b[1], 63)
        return a[0] >> least, a[1] >> (least if a[1] >= 0 else largest)
    return _arithmetic(name, a, b)


def _quotients(n: int, by: Interval) -> Interval:
    """``n / d`` for all ``d`` that are not 0."""
    if abs(n) >= INFINITE:
        return (0, n) if n > 0 else (n, 0)
    ends = [abs(n) // max(end, 1) * (1 if n >= 0 else -1) for end in by]
    return min(ends), max(ends)


def _all_ones(n: int) -> int:
    return (1 << n.bit_length()) - 1 if n < INFINITE else INFINITE
