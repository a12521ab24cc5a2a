"""What is taken of sizes: none is below zero where it is divided, or where that alone keeps two ranges apart, which the
verdict says; and the grid of a launch."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import Verdict, VerdictKind
from smem_lsp.analysis.decision.reasons import Assumption
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
        ("s[t & 7] = 1; s[8 + n + t] = 2;", True),
        ("s[t & 7] = in[0]; if (t < in[1]) s[8 + n + t] = in[t];", True),
    ],
)
def test_that_they_are_not_negative_is_assumed(body: str, assumed: bool) -> None:
    found = verdict(body)
    assert found.kind is VerdictKind.RACE_FREE, found.reasons
    assert (Assumption(("n",)) in found.assumes) is assumed


@pytest.mark.parametrize(("grid", "free"), [(5, True), (2, True), (1, False)])
def test_a_grid_is_that_of_the_launch(grid: int, free: bool) -> None:
    found = verdict("s[t % 2] = t % 2; out[t] = s[gridDim.x + t % 2 * 50];", grid)
    assert (found.kind is VerdictKind.RACE_FREE) is free


def test_ranges_as_long_as_parameters_say() -> None:
    text = """
struct Sizes { int x, y, z; const float* in; float* out; };
__global__ void k(Sizes n) {
  extern __shared__ float all[];
  float *a = all, *b = a + n.x, *c = b + n.y;
  for (int i = threadIdx.x; i < n.x; i += blockDim.x) a[i] = n.in[i];
  for (int i = threadIdx.x; i < n.y; i += blockDim.x) b[i] = n.in[n.x + i];
  for (int i = threadIdx.x; i < n.z; i += blockDim.x) c[i] = n.in[n.x + n.y + i];
  __syncthreads();
  n.out[threadIdx.x] = a[0] + b[n.y - 1] + c[n.z / 2];
}
void go(Sizes n) { k<<<8, 256, (n.x + n.y + n.z) * 4>>>(n); }
"""
    (found,) = check(text).facts[0].analysis.verdicts
    assert found.kind is VerdictKind.RACE_FREE
    assert Assumption(("n.x", "n.y", "n.z")) in found.assumes
    (found,) = check(text.replace("c = b + n.y", "c = b + n.y - 1")).facts[0].analysis.verdicts
    assert found.kind is not VerdictKind.RACE_FREE


def test_ranges_that_meet_for_ordinary_sizes_are_not_apart() -> None:
    for body in ("s[t & 7] = 1; s[7 + n + t] = 2;", "s[t & 7] = 1; s[8 - n + t] = 2;"):
        assert verdict(body).kind is not VerdictKind.RACE_FREE
