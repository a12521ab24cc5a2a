"""Random kernels against a run of every thread: see ``random_races``; ``tests/benchmarks/races.py`` runs more."""

from __future__ import annotations

import pytest

from analysis.hazards.random_races import Count, small_warps

SEEDS = 600


@pytest.mark.parametrize("part", range(4))
def test_what_is_said_of_races_and_barriers_holds(part: int) -> None:
    count = Count()
    with small_warps():
        for seed in range(part * SEEDS, (part + 1) * SEEDS):
            count.judge(seed)
    assert count.wrong == []
    assert count.races >= 5
    assert count.redundant >= 1
