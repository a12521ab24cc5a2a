"""A budget ends at the unit of work that it says, however seldom it looks at what is left."""

from __future__ import annotations

import random

from smem_lsp.source import budget
from smem_lsp.source.budget import Budget, OutOfBudget, apart, checkpoint, look, pause, spend, uncounted


class _Program:
    """Random work in random budgets inside each other. ``careful``: it looks after each unit."""

    def __init__(self, seed: int, *, careful: bool) -> None:
        self.random, self.careful = random.Random(seed), careful
        self.log: list[str] = []

    def run(self) -> str:
        before = budget.work_done()
        try:
            with Budget(units=3_000):
                self.steps(0)
        except OutOfBudget:
            self.log.append("end")
        return f"{' '.join(self.log)}: {budget.work_done() - before}"

    def steps(self, depth: int) -> None:
        for _ in range(self.random.randrange(1, 6)):
            kind, count = self.random.randrange(20), self.random.randrange(1, 60)
            if kind < 12:
                self.work(kind, count)
            elif depth < 5:
                self.inside(kind, depth + 1)

    def work(self, kind: int, count: int) -> None:
        for _ in range(count if kind < 10 else 1):
            if kind < 7:
                checkpoint()
            elif kind < 10:
                pause()
            else:
                spend(count)
            if self.careful:
                look()
            self.log.append("+")

    def inside(self, kind: int, depth: int) -> None:
        if kind < 14:
            with uncounted():
                self.steps(depth)
        elif kind < 16:
            with apart():
                self.steps(depth)
        else:
            units = self.random.randrange(1, 400)
            every = self.random.choice((None, None, self.random.randrange(50, 900)))
            try:
                with Budget(units=units, all=every, own=self.random.random() < 0.5):
                    self.steps(depth)
            except OutOfBudget as error:
                self.log.append(error.reason)


def test_it_ends_at_the_same_unit_however_seldom_it_looks() -> None:
    seldom, often = (
        [_Program(seed, careful=careful).run() for seed in range(300)] for careful in (False, True)
    )
    assert seldom == often
    assert sum("effort" in each for each in seldom) > 50
    assert any("time" in each for each in seldom)
