"""Ways have one order in every process, so that the same questions are asked."""

from __future__ import annotations

from itertools import product

from smem_lsp.analysis.decision.path_classes import (
    Flight,
    InIteration,
    LastIteration,
    NotTaken,
    PathClass,
    by_place,
)

MARKS = [
    frozenset(each)
    for each in (
        (),
        (NotTaken(3, True, False),),
        (NotTaken(3, False, False),),
        (InIteration(3),),
        (InIteration(3, 1),),
        (InIteration(3, 1, True), LastIteration(5)),
        (LastIteration(3), LastIteration(5)),
    )
]
FLIGHTS = (None, Flight(), Flight(2), Flight(2, 1))


def test_no_two_ways_have_one_place() -> None:
    every = [
        PathClass(crossed, several, marks, turns, flight)
        for crossed, several, marks, turns, flight in product(
            (None, 0, 7), (False, True), MARKS, (1, 2), FLIGHTS
        )
    ]
    assert len(set(every)) == len(every)
    assert by_place(every) == by_place(reversed(every)) == by_place(set(every))
