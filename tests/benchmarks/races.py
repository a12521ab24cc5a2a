"""Random kernels against a run of every thread: what is claimed of races and redundant barriers, and what is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analysis.hazards.random_races import Count, small_warps
from benchmarks.runner.declared import Figure, Told, Wrong, benchmark
from benchmarks.runner.programs import pooled

BATCH = 500


def judged(seeds: Sequence[int]) -> Count:
    count = Count()
    with small_warps():
        for seed in seeds:
            count.judge(seed)
    return count


@benchmark()
def measure(*, kernels: int = 50_000, seed: int = 0, jobs: int = 1) -> Iterator[Told]:
    counts = list(pooled(judged, range(seed, seed + kernels), BATCH, jobs))
    yield Figure("kernels", sum(each.kernels for each in counts))
    yield Figure("races claimed", sum(each.races for each in counts))
    yield Figure("redundant barriers claimed", sum(each.redundant for each in counts))
    wrong = [each for count in counts for each in count.wrong]
    yield Figure("wrong", len(wrong), better="lower")
    yield from (Wrong(f"seed {each}: {what}") for each, what in wrong)
