"""Values of parameters that a kernel is run with."""

from __future__ import annotations

import math

import pytest

from smem_lsp.analysis.threads.assignments import assignments
from smem_lsp.terms.language import TermTable


@pytest.mark.parametrize("threads", [64, 96, 256, 672, 1024])
def test_sides_that_make_up_the_block(threads: int) -> None:
    """Of ``blockDim.x == M * N`` neither is 1, no product wraps, and both choices differ."""
    table = TermTable()
    m, n = table.sym("M"), table.sym("N")
    fact = table.op("==", table.sym("blockDim.x"), table.op("*", m, n))
    found = list(assignments([m, n], (threads, 1, 1), given=[fact]))
    assert all(math.prod(each.values()) == threads and min(each.values()) > 1 for each in found)
    assert len({each["M"] for each in found}) == 2


def test_no_choice_for_a_block_that_no_launch_has() -> None:
    table = TermTable()
    side = table.sym("TILE")
    square = [table.op("==", table.sym(f"blockDim.{axis}"), side) for axis in "xy"]
    assert [each["TILE"] for each in assignments([side], (16, 16, 1), given=square)] == [16, 16]
    assert list(assignments([side], (32, 8, 1), given=square)) == []
