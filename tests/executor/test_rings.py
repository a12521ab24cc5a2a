"""Rings of stages: random kernels with them are clean, and each rewrite of one gives the bytes of the original.

``python -m tests.benchmarks executor rings --kernels 10000`` runs more random kernels.
"""

from __future__ import annotations

import os
import re

import pytest

from executor.merging import check_kernels
from executor.ring_kernels import RingKernel

pytest.importorskip("z3")

KERNELS = int(os.environ.get("SMEM_RING_KERNELS", "24"))
FORMS = {
    "an array of stages": r"__shared__ .* ring\d\[[234]\]\[\d+\];",
    "carved": r"float\* ring\d = raw",
    "a tile": r"\btile\d\b",
    "a loop over tiles": r"for \(int tile = blockIdx\.x;",
    "the stage from the turn": r"const int s\d = i\d % [234];",
    "a carried stage": r"s\d = s\d < \d \?",
    "a carried stage that is set back": r"\(\+\+s\d == [234]\) s\d = 0;",
    "two stages in turn": r"s\d \^= 1;",
    "an earlier stage": r"\(\(s\d \+ [23]\) % [34]\)",
    "copies ahead": r"__pipeline_wait_prior\([12]\);",
    "barrier objects": r"full\d\[.*\]\.arrive_and_wait\(\);",
    "filled before all": r"= j \* 0\.25f \+ \d;",
    "filled in part": r"% 3 != ",
}


def test_every_form_occurs() -> None:
    texts = [RingKernel(seed).text() for seed in range(100)]
    assert [name for name, form in FORMS.items() if not any(re.search(form, text) for text in texts)] == []


def test_a_ring_kernel_comes_from_its_seed() -> None:
    texts = [RingKernel(seed).text() for seed in range(9)]
    assert texts == [RingKernel(seed).text() for seed in range(9)]
    assert len(set(texts)) == 9


@pytest.mark.slow(seconds=15)
def test_random_rings_keep_what_the_kernel_puts_out() -> None:
    found = check_kernels(list(range(KERNELS)), 2, RingKernel)
    assert found.unfit == []
    assert found.mismatches == []
    assert found.races == 0
    assert found.rewritten > KERNELS // 4
