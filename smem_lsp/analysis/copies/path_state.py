"""What is known on one path of a thread that starts work of the asynchronous proxy and waits for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from smem_lsp.ir.copy_events import Groups
from smem_lsp.ir.nodes import Assignment
from smem_lsp.ir.values import Const, Op, Unknown, Value, Var, variables_of
from smem_lsp.source.record import dataclass
from smem_lsp.terms.congruences import Number
from smem_lsp.terms.operators import Operator
from smem_lsp.terms.zones import Zone, within

_OLDEST = 9  # groups: an older one is as old as this
UNCOUNTED = -1  # stages: not known how many


Word = tuple[int, int]  # its buffer, and bytes from its start
Numbers = frozenset[tuple[int, Number]]  # of variables
Decided = frozenset[tuple[Value, bool]]  # conditions


class CopyInFlight(NamedTuple):
    issue: int  # its point
    by: Groups | Word | None  # what waits for it; None: not known
    age: int = 0  # groups that were committed since, its own included


class Question(NamedTuple):
    """Is the phase of a word over? It is where the value is true, or false where ``inverted``."""

    value: Unknown | int  # a variable by its number
    word: Word
    point: int
    inverted: bool = False


@dataclass(frozen=True, slots=True)
class CopyPath:
    """``phases``: parity of the phase that the thread waits for next, how often it has arrived in it, and whether that
    expects bytes of copies; ``stages``: pipelines, and how many stages of each are under way, if any; ``numbers`` and
    ``zone``: variables; ``decided``: conditions that hold on it; ``other``: the last four of the other thread."""

    phases: frozenset[tuple[Word, int, int, bool]] = frozenset()
    lost: frozenset[int] = frozenset()  # buffers with words that are not followed
    flights: frozenset[CopyInFlight] = frozenset()
    stages: frozenset[tuple[int, int]] = frozenset()
    numbers: Numbers = frozenset()
    zone: Zone = frozenset()
    asked: frozenset[Question] = frozenset()
    decided: Decided = frozenset()
    other: tuple[Numbers, Zone, frozenset[Question], Decided] | None = None

    def phase(self, word: Word) -> tuple[int, int, bool]:
        return next((each[1:] for each in self.phases if each[0] == word), (0, 0, False))

    def at(self, word: Word, parity: int, arrivals: int = 0, *, expects: bool = False) -> CopyPath:
        rest = frozenset(each for each in self.phases if each[0] != word)
        return replace(self, phases=rest | {(word, parity, arrivals, expects)})

    def under_way(self, pipeline: int) -> int:
        return dict(self.stages).get(pipeline, 0)

    def with_stages(self, pipeline: int, count: int) -> CopyPath:
        rest = frozenset(each for each in self.stages if each[0] != pipeline)
        count = count if count <= _OLDEST else UNCOUNTED
        return replace(self, stages=rest | {(pipeline, count)} if count else rest)

    def committed(self, sequence: Groups) -> CopyPath:
        """A group more: what is in flight is one older."""
        flights = (
            each._replace(age=min(each.age + 1, _OLDEST)) if each.by == sequence else each
            for each in self.flights
        )
        return replace(self, flights=frozenset(flights))

    def unasked(self, word: Word) -> CopyPath:
        """Nothing is asked of a word any more."""
        return replace(self, asked=frozenset(each for each in self.asked if each.word != word))


Paths = frozenset[CopyPath]


def lose(path: CopyPath, buffer: int) -> CopyPath:
    return replace(
        path,
        phases=frozenset(each for each in path.phases if each[0][0] != buffer),
        asked=frozenset(each for each in path.asked if each.word[0] != buffer),
        flights=frozenset(
            each._replace(by=None) if isinstance(each.by, tuple) and each.by[0] == buffer else each
            for each in path.flights
        ),
        lost=path.lost | {buffer},
    )


def least(numbers: Iterable[Numbers]) -> Mapping[int, Number]:
    """The smallest number of each variable that is known on all paths."""
    every = [dict(each) for each in numbers]
    shared = set.intersection(*map(set, every)) if every else set()
    return {variable: min(each[variable] for each in every) for variable in shared}


def without(paths: Paths, over: frozenset[int]) -> Paths:
    return frozenset(
        replace(path, flights=frozenset(each for each in path.flights if each.issue not in over))
        for path in paths
    )


def merged(paths: Paths) -> Paths:
    """Paths that differ in nothing but what is in flight are one: each of that is over or not whatever the rest is."""
    found: dict[CopyPath, frozenset[CopyInFlight]] = {}
    for path in paths:
        rest = replace(path, flights=frozenset())
        found[rest] = found.get(rest, frozenset()) | path.flights
    return frozenset(replace(rest, flights=flights) for rest, flights in found.items())


def remembering(path: CopyPath, live: frozenset[int]) -> CopyPath:
    """With what is known of these variables only."""
    return replace(
        path,
        numbers=frozenset(each for each in path.numbers if each[0] in live),
        zone=within(path.zone, live),
        decided=frozenset(each for each in path.decided if live.issuperset(variables_of(each[0]))),
    )


def swapped(path: CopyPath) -> CopyPath:
    """As the other thread sees it."""
    assert path.other is not None
    numbers, zone, asked, decided = path.other
    own = path.numbers, path.zone, path.asked, path.decided
    return replace(path, numbers=numbers, zone=zone, asked=asked, decided=decided, other=own)


def named(asked: Iterable[Question], node: Assignment) -> Iterator[Question]:
    """Behind an assignment: the variable is the answer, too, that is assigned to it."""
    value, inverted = literal(node.value)
    for question in asked:
        if question.value == node.variable:
            continue
        yield question
        if question.value == value:
            yield question._replace(value=node.variable, inverted=inverted != question.inverted)


def literal(value: Value) -> tuple[Unknown | int | None, bool]:
    """(what decides whether a value is not zero, whether it is so where that is zero)."""
    inverted = False
    while isinstance(value, Op):
        zero = len(value.args) == 2 and value.args[1] == Const(0)
        if value.operator is Operator.NOT or (zero and value.operator is Operator.EQUAL):
            inverted = not inverted
        elif value.operator is not Operator.CAST and not (zero and value.operator is Operator.NOT_EQUAL):
            return None, False
        value = value.args[0]
    if isinstance(value, Var):
        return value.index, inverted
    return (value if isinstance(value, Unknown) else None), inverted
