"""Checks mutants of real kernels: none may raise or take long.

Kernels of the corpora that are in the cache (``tests/corpora/fetch.py`` fetches them) and of ``tests/kernels``. 100,000
mutants take half an hour on two cores.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from benchmarks.runner.declared import Figure, Told, Wrong, benchmark
from benchmarks.runner.figures import counted
from benchmarks.runner.programs import TESTS
from fetch import cache_folder
from robustness.mutants import Tally, judge, sources

_BATCH = 500


def files() -> list[Path]:
    return sources([TESTS / "kernels", cache_folder()])


def batch(first: int, last: int) -> Tally:
    tally = Tally()
    judge(files(), range(first, last), tally)
    return tally


@benchmark()
def measure(
    *, mutants: int = 1_000, first: Annotated[int, "the first seed"] = 0, jobs: int = 2
) -> Iterator[Told]:
    end = first + mutants
    batches = [(at, min(at + _BATCH, end)) for at in range(first, end, _BATCH)]
    whole = Tally()
    with multiprocessing.get_context("spawn").Pool(jobs, maxtasksperchild=10) as pool:
        for tally in pool.starmap(batch, batches, chunksize=1):
            whole.mutants += tally.mutants
            whole.findings += tally.findings
            whole.stopped += tally.stopped
            whole.slowest = max(whole.slowest, tally.slowest)
            whole.defects += tally.defects
            whole.slow += tally.slow
    yield Figure("files that they are made of", len(files()))
    yield from counted(whole, lower=("stopped", "slowest", "defects", "slow"))
    yield from map(Wrong, [*whole.defects, *whole.slow])
