"""Fifteen hundred mutants of real kernels: none raises. ``benchmarks/mutants.py`` tries any number, and says how long
the slowest took.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fetch import Unavailable, corpora, fetch
from robustness.mutants import Tally, judge, sources

KERNELS = Path(__file__).parents[1] / "kernels"
FIRST = 10_000_000  # seeds that the benchmark does not come to
EACH = 250


@pytest.mark.defects  # they are counted here
@pytest.mark.sampled(one_in=6)
@pytest.mark.parametrize("part", range(6))
def test_mutants(part: int) -> None:
    try:
        folders = [KERNELS, *map(fetch, corpora())]
    except Unavailable as reason:
        if os.environ.get("SMEM_REQUIRE_TOOLS") == "1":
            pytest.fail(f"{reason} (SMEM_REQUIRE_TOOLS=1)", pytrace=False)
        pytest.skip(str(reason))
    tally, first = Tally(), FIRST + part * EACH
    judge(sources(folders), range(first, first + EACH), tally)
    assert tally.defects == []
    assert tally.mutants == EACH
    assert tally.findings > EACH / 4, "the mutants are no kernels any more"
