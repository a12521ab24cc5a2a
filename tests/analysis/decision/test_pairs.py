"""Answers on random pairs of accesses, against bounded enumeration; the benchmark judges as many others as one likes,
``python -m tests.benchmarks pairs --pairs 10000``.
"""

from __future__ import annotations

import random

import pytest

from smem_lsp.analysis.decision.model import PairVerdict

from .pairs import Drawn, Step, Values, drawn, judge, judges_of, launches, meetings, shows
from .running import ARITHMETIC

KERNELS = 30


@pytest.mark.slow(seconds=10)
def test_no_answer_is_contradicted() -> None:
    found = judge(range(KERNELS))
    assert found.wrong == [], "python -m tests.benchmarks pairs --show SEED"
    assert found.pairs > 3 * KERNELS
    assert found.met > found.pairs // 5
    assert found.answers[PairVerdict.APART.value] > found.pairs // 5


def test_enumeration_refutes_a_proof_that_is_wrong() -> None:
    for seed in range(KERNELS):
        kernel = drawn(seed)
        met = {
            pair
            for given in launches(kernel, random.Random(seed))
            for pair in meetings(kernel, given)[PairVerdict.APART]
        }
        if met:
            one, other = min(met)
            lines = {kernel.steps[one].line, kernel.steps[other].line}
            facts, judges = judges_of(kernel)
            answers = {
                each.answer
                for judge_ in judges
                for each in judge_.decisions()
                if {facts.line(each.first.line), facts.line(each.second.line)} == lines
            }
            assert answers - {PairVerdict.APART}
            return
    raise AssertionError("no kernel has accesses that meet")


def test_sizes_that_a_witness_leaves_open_are_none_that_divide_by_zero() -> None:
    def kernel(divisor: str) -> Drawn:
        def does(values: Values) -> tuple[int, int] | None:
            element, stored = eval(f"rest(0, {divisor}), tid", {**ARITHMETIC, **values})
            return element, stored

        return Drawn("", [Step("W", 1, does)], 32, 64, 1, False, {"m": "int"})

    assert shows(kernel("m"), (0, 0), {}) is True
    assert shows(kernel("m"), (0, 0), {"n": 1, "m": 0, "blockIdx_x": 0}) is False
    assert shows(kernel("tid - 3"), (0, 0), {}) is None
