"""Merged memory against the original: random kernels, each merge that can be written, equal bytes and no race.

``python tests/benchmarks/executor.py --kernels 10000`` runs more; a failure prints the command that shows it again.
"""

from __future__ import annotations

import os
import random
import re
import sys

import pytest

from executor import Run, build
from executor.merging import Result, check_kernels
from executor.random_kernels import Generator, host_program

KERNELS = int(
    os.environ.get("SMEM_RANDOM_KERNELS", "2000")
)  # with their rewrites about 100 ms of one core each
PARTS = 4  # so that the processes of a run share them
BATCH = 125
_BARRIER = re.compile(r"^\s*__syncthreads\(\);\n", re.M)


@pytest.mark.parametrize("part", range(PARTS))
def test_merged_memory_gives_the_bytes_of_the_original(part: int, capsys: pytest.CaptureFixture[str]) -> None:
    first, kernels = random.SystemRandom().randrange(1 << 30), KERNELS // PARTS
    with capsys.disabled():  # pytest-xdist shows what its processes write to stderr only
        print(f"{kernels} random kernels from seed {first}", file=sys.stderr, flush=True)
    again = f"python tests/benchmarks/executor.py --seed {first} --kernels {kernels}"
    total = Result()
    for at in range(first, first + kernels, BATCH):
        total.add(check_kernels(list(range(at, min(at + BATCH, first + kernels))), 2))
    assert total.unfit == [], again
    assert total.mismatches == [], again
    assert total.races == 0, again
    assert total.rewritten > kernels // 3  # enough of them have a merge at all


def test_a_kernel_comes_from_its_seed() -> None:
    assert [Generator(seed).text() for seed in range(20)] == [Generator(seed).text() for seed in range(20)]
    assert len({Generator(seed).text() for seed in range(20)}) == 20


def test_barriers_are_needed() -> None:
    """A kernel without its barriers races, or they were extra ones; of most kernels at least one is not."""
    sources, needy = [], 0
    for seed in range(30):
        source = Generator(seed).source(f"{seed}")
        text, removed = _BARRIER.subn("", source.text)
        if removed:
            sources.append(type(source)(source.name, text))
    with build(sources) as programs:
        for outcome in programs.run_all([Run(source.name, 1) for source in sources]):
            needy += bool(outcome.races)
    assert len(sources) > 20
    assert needy > len(sources) // 2


def test_the_host_program_runs_the_kernel_with_every_number_of_trips() -> None:
    source = Generator(5).source("5")
    assert source.text.endswith(host_program(Generator(5).threads))
    with build([source]) as programs:
        assert programs.run("5").launches == 3
