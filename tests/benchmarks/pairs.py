"""Answers on random pairs of accesses against bounded enumeration (``analysis.decision``).

Told is how many pairs have which answer. It is wrong when a pair is proved apart and meets, or when the witness of a
race shows none. Blocks of at most 64 threads; parameters, places in the grid and data from a small domain.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Annotated

from analysis.decision.pairs import Tally, drawn, judge, judges_of
from benchmarks.runner.declared import Told, Wrong, benchmark
from benchmarks.runner.figures import counted
from benchmarks.runner.programs import numbered

from smem_lsp.rules.decision_words import why


@benchmark()
def measure(
    *,
    pairs: int = 10_000,
    seed: int = 0,
    show: Annotated[int | None, "the seed of a kernel: print it and its answers, instead"] = None,
) -> Iterator[Told]:
    if show is not None:
        yield from one(show)
        return
    total = Tally()
    for each in itertools.count(seed):
        if total.pairs >= pairs:
            break
        found = judge([each])
        total.add(found)
        yield from (Wrong(f"{wrong} --show {each}") for _, wrong in found.wrong)
    yield from counted(total)


def one(seed: int) -> Iterator[Told]:
    """A kernel, and what is decided of its pairs."""
    kernel = drawn(seed)
    yield numbered(kernel.text)
    facts, judges = judges_of(kernel)
    for each in (each for judge_ in judges for each in judge_.decisions()):
        lines = f"{facts.line(each.first.line)} {facts.line(each.second.line)}"
        yield f"{lines} {each.answer.value} {why(each.reason).placed(facts.kernel)} {each.witness}"
    yield from (Wrong(wrong) for _, wrong in judge([seed]).wrong)
