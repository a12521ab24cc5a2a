"""Writes that are the same in every iteration of a loop: what they write once they write each time.

A byte that a thread has written in one iteration is written again in the next one by that very thread, where the
address of the write, the loops around it and its guards do not change from iteration to iteration: whatever the block
is, and whatever the address looks like. So no value is left of an earlier iteration, and nobody has to say which bytes
these are. Bytes that nothing has ever written may be read all the same; whoever asks has to look for that.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import field

from smem_lsp.analysis.values.value_facts import LoopFacts, Recurrence, ValueFacts
from smem_lsp.ir.nodes import Access
from smem_lsp.source import checkpoint, record
from smem_lsp.source.record import dataclass
from smem_lsp.terms.language import LoopVar, Op, Term

_MOST_GUARDS = 6  # that decide between writes of the same bytes

Guard = tuple[Term, bool]  # a condition, and whether it holds
_Key = Hashable
_Guard = tuple[_Key, bool]


@record
class SameWrite:
    """``place``: one for all writes that write to the same bytes in the same iterations of the loops around them, as
    far as these do not cross iterations; ``size``: bytes; ``held``: guards whose truth is the same in all iterations;
    ``open``: those that may change."""

    place: _Key
    size: int
    held: frozenset[_Guard]
    open: frozenset[_Guard]


def same_write(
    values: ValueFacts,
    access: Access,
    start: Term | None,
    size: int | None,
    guards: Iterable[Guard],
    around: Sequence[int],
    crossed: Iterable[int],
) -> SameWrite | None:
    """What a write to ``size`` bytes from ``start`` on does in every iteration of the loops ``crossed`` (points).
    ``around``: those that it runs through in each iteration, the outermost first. None: something of it may change."""
    if start is None or not size or access.guess or access.part is not None:
        return None
    keys = _Keys(values.loops, tuple(around), frozenset(crossed))
    place = keys.of(start)
    iterations = tuple(map(keys.iterations_of, around))
    if place is None or None in iterations:
        return None
    held, may_change = set[_Guard](), set[_Guard]()
    for term, taken in guards:
        key = keys.of(term)
        if key is None:
            may_change.add((term, taken))
        else:
            held.add((key, taken))
    return SameWrite((place, access.rows, iterations), size, frozenset(held), frozenset(may_change))


def is_repeated(before: SameWrite, again: Iterable[SameWrite]) -> bool:
    """Does one of ``again`` write all that ``before`` has written, however guards that may change iteration out?"""
    ways = [
        (each.held - before.held) | each.open
        for each in again
        if each.place == before.place and each.size >= before.size
    ]
    return len({key for way in ways for key, _ in way}) <= _MOST_GUARDS and _always(ways)


def _always(ways: Sequence[frozenset[_Guard]]) -> bool:
    """Do all guards of one of these hold, whatever does?"""
    if frozenset() in ways:
        return True
    deciding = next((key for way in ways for key, _ in way), None)
    if deciding is None:
        return False
    checkpoint()
    return all(
        _always([way - {(deciding, truth)} for way in ways if (deciding, not truth) not in way])
        for truth in (True, False)
    )


@dataclass(slots=True)
class _Keys:
    """Terms by what they compute from the thread and the iterations of the loops ``around``, not by the loop that they
    stand in: equal keys are equal numbers. None: the number may be another one in another iteration of the loops
    ``crossed``."""

    loops: Mapping[int, LoopFacts]
    around: tuple[int, ...]
    crossed: frozenset[int]
    _moves: dict[LoopVar, Recurrence] = field(default_factory=dict)

    def __post_init__(self) -> None:
        inside = (self.loops[point] for point in self.around if point in self.loops)
        self._moves = {each.atom: each for loop in inside for each in loop.recurrences}

    def iterations_of(self, loop: int) -> _Key | None:
        """Which iterations it has."""
        facts = self.loops.get(loop)
        if facts is None or facts.exits:
            return None
        if facts.trips is not None:
            return facts.trips
        runs = tuple(map(self.of, (facts.first, facts.head, facts.again)))
        return None if None in runs else (facts.tested, runs)

    def of(self, term: Term) -> _Key | None:
        return self._of(term, [])

    def _of(self, term: Term, seen: list[LoopVar]) -> _Key | None:
        """``seen``: the loop variables that the key says something of already."""
        checkpoint()
        if isinstance(term, LoopVar):
            return self._of_loop(term, seen)
        if not any(isinstance(each, LoopVar) for each in term.carried):
            return term if self._stays(term) else None
        if not isinstance(term, Op) or not term.known:
            return None
        args = tuple([self._of(each, seen) for each in term.args])
        return None if None in args else (term.operator, term.reading, args)

    def _of_loop(self, atom: LoopVar, seen: list[LoopVar]) -> _Key | None:
        if atom in seen:
            return ("again", seen.index(atom))
        moves = self._moves.get(atom)
        if moves is None:
            return None
        seen.append(atom)
        init, following = self._of(moves.init, seen), self._of(moves.next, seen)
        if init is None or following is None:
            return None
        return ("turn", self.around.index(atom.loop), init, following)

    def _stays(self, term: Term) -> bool:
        """Is it worked out before all of these loops, or from numbers that do not change?"""
        loops = [self.loops.get(point) for point in (*self.crossed, *self.around)]
        return term.known or all(each is not None and term.serial <= each.begins for each in loops)
