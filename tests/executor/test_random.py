"""Merged memory against the original: random kernels, each merge that can be written, equal bytes and no race.

``python tests/benchmarks/executor.py --kernels 10000`` runs more; a failure prints the command that shows it again.
"""

from __future__ import annotations

import os
import random
import re

import pytest

from executor import Run, build
from executor.merging import check_kernels
from executor.random_kernels import Generator, host_program

# These and their rewrites take about 95 s of one core.
KERNELS = int(os.environ.get("SMEM_RANDOM_KERNELS", "600"))
_BARRIER = re.compile(r"^\s*__syncthreads\(\);\n", re.M)


def test_merged_memory_gives_the_bytes_of_the_original(capsys: pytest.CaptureFixture[str]) -> None:
    first = random.SystemRandom().randrange(1 << 30)
    with capsys.disabled():
        print(f" {KERNELS} random kernels from seed {first} ", end="", flush=True)
    again = f"python tests/benchmarks/executor.py --seed {first} --kernels {KERNELS}"
    rewritten = 0
    for at in range(first, first + KERNELS, 40):
        result = check_kernels(list(range(at, min(at + 40, first + KERNELS))), 3)
        assert result.unfit == [], again
        assert result.mismatches == [], again
        assert result.races == 0, again
        rewritten += result.rewritten
    assert rewritten > KERNELS // 3  # enough of them have a merge at all


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
    assert source.text.endswith(host_program(Generator(5).threads)) or "int main()" in source.text
    with build([source]) as programs:
        assert programs.run("5").launches == 3
