"""Elements of arrays of constants as indices."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check

TEXT = """\
__global__ void k(const int *in, int *out) {{
  __shared__ int s[512];
  {array};
  int t = threadIdx.x, row = t / 4 * 16 + t % 4 * 2;
  for (int i = 0; i < 4; i++) s[row + offsets[i]] = in[4 * t + i];
  __syncthreads();
  out[t] = s[t];
}}
void go(const int *in, int *out) {{ k<<<1, 64>>>(in, out); }}
"""


@pytest.mark.parametrize(
    ("array", "kind"),
    [
        ("constexpr int offsets[4] = {0, 1, 8, 9}", VerdictKind.RACE_FREE),
        ("const unsigned offsets[] = {9, 8, 1, 0}", VerdictKind.RACE_FREE),
        ("const int offsets[4] = {9, 1, 8}", VerdictKind.RACE_FREE),  # and 0
        ("constexpr int offsets[4] = {0, 1, 8, 11}", VerdictKind.RACY),  # of the next lane
        ("constexpr int offsets[4] = {0, 1, 8, 24}", VerdictKind.RACY),  # of the next row
        ("const int offsets[4] = {0, 2}", VerdictKind.RACY),
    ],
)
def test_elements_of_a_constant_array_are_known(array: str, kind: VerdictKind) -> None:
    (found,) = check(TEXT.format(array=array)).facts[0].analysis.verdicts
    assert found.kind is kind, found.reasons


@pytest.mark.parametrize(
    "array",
    [
        "int offsets[4] = {0, 1, 8, 9}",  # may be changed
        "volatile const int offsets[4] = {0, 1, 8, 9}",
        "const int offsets[4] = {0, 1, 8, in[0]}",
        "const int *offsets = in",
        "const int all[2][4] = {{0, 1, 8, 9}, {0, 1, 8, 11}}; const int *offsets = all[in[0]]",
    ],
)
def test_elements_of_other_arrays_are_not(array: str) -> None:
    (found,) = check(TEXT.format(array=array)).facts[0].analysis.verdicts
    assert found.kind is VerdictKind.UNDECIDED
