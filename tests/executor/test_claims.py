"""What is said of races and barriers against the runs: kernels of fixed seeds; the benchmark runs as many others as one
likes, ``python -m tests.benchmarks claims --kernels 50000``.
"""

from __future__ import annotations

import os

import pytest

from .claims import Claim, Tally, judge
from .model import Access, Outcome, Race
from .racy_kernels import Generator

KERNELS = int(os.environ.get("SMEM_RANDOM_CLAIMS", "300"))
PARTS = 4  # of which a run takes one
BATCH = 125


@pytest.mark.slow(seconds=30)
@pytest.mark.sampled(one_in=4)
@pytest.mark.parametrize("part", range(PARTS))
def test_what_is_told_happens(part: int) -> None:
    total = Tally()
    first = part * KERNELS // PARTS
    last = (part + 1) * KERNELS // PARTS
    for at in range(first, last, BATCH):
        total.add(judge(range(at, min(at + BATCH, last))))
    assert total.wrong == [], "python -m tests.benchmarks claims --show SEED"
    assert total.shown["race"] > total.kernels // 2
    assert total.freed > total.kernels // 14  # a barrier beside a race that is told is not judged
    data = "race that data decide"  # which needs the right data
    assert total.shown[data] > total.told[data] // 3
    unjudged = sum(total.unjudged.values()) - total.unjudged[data]
    assert unjudged < (sum(total.told.values()) - total.told[data]) // 10


def test_a_kernel_comes_from_its_seed() -> None:
    texts = [Generator(seed).kernel().text for seed in range(20)]
    assert texts == [Generator(seed).kernel().text for seed in range(20)]
    assert len(set(texts)) == 20


def test_a_race_is_shown_by_one_between_its_lines_only() -> None:
    race = Race("a", 0, Access("write", 0, 12), Access("read", 32, 14), 1, 1)
    assert Claim(0, "race", (12, 14), (64, 1, 1)).shown(Outcome(races=(race,)))
    assert not Claim(0, "race", (12, 15), (64, 1, 1)).shown(Outcome(races=(race,)))
