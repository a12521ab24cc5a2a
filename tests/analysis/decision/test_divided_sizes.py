"""What is taken of sizes: none that is divided is below zero, which the verdict says; and the grid of a launch."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import Verdict, VerdictKind
from smem_lsp.engine import check


def verdict(body: str, grid: int = 5) -> Verdict:
    text = f"""
__global__ void k(const int *in, int *out, int n) {{
  __shared__ int s[96];
  int t = threadIdx.x;
  {body}
}}
void go(const int *in, int *out, int n) {{ k<<<{grid}, 48>>>(in, out, n); }}
"""
    (found,) = check(text).facts[0].analysis.verdicts
    return found


@pytest.mark.parametrize(
    ("body", "assumed"),
    [
        ("if (t == 1) s[1] = 1; s[n % 4 * 12 + 48 + t] = t;", True),  # of n == -4: the same element
        ("s[t] = 1; for (int i = 0; i < n / 32; ++i) s[t] += i;", True),
        ("s[t] = t / 32 + blockIdx.x / 4; __syncthreads(); out[t] = s[47 - t];", False),
        ("s[t] = t + n; __syncthreads(); out[t] = s[47 - t];", False),
    ],
)
def test_that_they_are_not_negative_is_assumed(body: str, assumed: bool) -> None:
    found = verdict(body)
    assert found.kind is VerdictKind.RACE_FREE, found.reasons
    assert ("n is not negative" in found.assumes) is assumed


@pytest.mark.parametrize(("grid", "free"), [(5, True), (2, True), (1, False)])
def test_a_grid_is_that_of_the_launch(grid: int, free: bool) -> None:
    found = verdict("s[t % 2] = t % 2; out[t] = s[gridDim.x + t % 2 * 50];", grid)
    assert (found.kind is VerdictKind.RACE_FREE) is free
