"""Rows of a pitch that is not known before the kernel runs, filled by a block of any size."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.formulas import Expression, Formula
from smem_lsp.analysis.decision.mixed_radix import MixedRadix
from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.analysis.decision.solver import Satisfiability, solve
from smem_lsp.engine import check

TEXT = """\
__global__ void k(const float *in, float *out, int rows, int columns, int parts) {{
  extern __shared__ float s[];
  int width = columns / parts;
  float *sums = s + rows * width;
  for (int c = threadIdx.x; c < {columns}; c += blockDim.x) {{
    for (int r = 0; r < rows; r++) s[r * width + c{more}] = in[r * columns + c];
    sums[c] = in[c];
  }}
  __syncthreads();
  for (int c = threadIdx.x; c < width; c += blockDim.x) out[c] = s[c] * sums[width - 1 - c];
}}
"""


@pytest.mark.parametrize(
    ("columns", "more", "free"),
    [
        ("width", "", True),
        ("width - 1", " + 1", True),
        ("columns", "", False),  # more than a row
        ("width", " + 1", False),  # the last one begins the next row
        ("width", " + r", False),
    ],
)
def test_columns_of_rows_of_a_quotient(columns: str, more: str, *, free: bool) -> None:
    (found,) = check(TEXT.format(columns=columns, more=more)).facts[0].analysis.verdicts
    assert (found.kind is VerdictKind.RACE_FREE) is free, found.reasons


@pytest.mark.parametrize("pitch", [-3, -1, 0, 1, 2, 5])
@pytest.mark.parametrize("left", [-6, -2, 0, 3, 5])
def test_what_is_said_of_rows_excludes_nothing(pitch: int, left: int) -> None:
    side: list[Formula] = []
    digits = MixedRadix(lambda name, low, high: Expression(name), side)
    row, column, width, inner = (Expression(f"v{index}") for index in range(4))
    made = row * width + column + width * (inner * column)
    said = digits.equal(made, row - row + left, rows=True)
    for r, c, i in ((0, left, 0), (1, left - pitch, 0), (2, 1, -1), (-1, 2, 3)):
        given = [row.equals(r), column.equals(c), width.equals(pitch), inner.equals(i)]
        found = solve([said, *given, *side], (), 60_000)
        assert (found.outcome is Satisfiability.SOME) is (r * pitch + c + pitch * i * c == left)
