"""Every barrier of our own kernels taken away, one at a time: races are reported, and what SMEM204 tells may go."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from analysis.hazards import patterns, warp_patterns

from executor.cases import PREFIX
from executor.deletion import judge
from executor.model import Launch, Source, filled, zeroed
from executor.random_kernels import Generator, host_program

FOLDER = Path(__file__).parents[1] / "kernels"
SEEDS = range(3)
PARTS = 3  # of which a run takes one
# Races in a branch that is taken for other values of n than the program's own launch passes.
ELSEWHERE = {"09_exclusive_uniform.cu without 16", "51_switch_scope.cu without 17"}


@pytest.mark.slow(seconds=12)
@pytest.mark.sampled(one_in=PARTS)
@pytest.mark.parametrize("part", range(PARTS))
def test_the_reference_programs(part: int) -> None:
    names = sorted(path.name for path in FOLDER.glob("*.cu") if ".wrong." not in path.name)[part::PARTS]
    tally = judge([Source(name, (FOLDER / name).read_bytes().decode()) for name in names], SEEDS)
    print(tally)
    assert tally.racy >= 30
    assert not tally.false_redundant
    assert set(tally.false_races) <= ELSEWHERE
    assert tally.found >= 0.9 * tally.racy, tally.missed
    assert len(tally.untold) <= 4, tally.untold


@pytest.mark.slow(seconds=5)
def test_the_patterns() -> None:
    sources = []
    for pattern in (*patterns.PATTERNS, *warp_patterns.PATTERNS):
        if not pattern.right:
            block = tuple(int(number) for number in re.findall(r"\b\d+\b", pattern.block))
            arguments = (filled("float", 70_000), zeroed("float", 70_000), 64)
            launch = Launch("k", (1,), block, arguments, pattern.dynamic)
            sources.append(Source(pattern.name, PREFIX + pattern.text(), launch))
    tally = judge(sources, SEEDS)
    assert tally.racy >= 50
    assert not tally.false_redundant and not tally.false_races
    assert tally.found >= 0.9 * tally.racy, tally.missed


@pytest.mark.slow(seconds=5)
def test_random_kernels() -> None:
    """They take branches on n that no launch of theirs takes: a race that no run shows is no error here."""
    sources = []
    for seed in range(12):
        generator = Generator(seed)
        sources.append(Source(f"{seed}", generator.text() + host_program(generator.threads)))
    tally = judge(sources, SEEDS)
    assert tally.deletions >= 50
    assert not tally.false_redundant
