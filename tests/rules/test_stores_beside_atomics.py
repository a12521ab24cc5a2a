"""An atomic operation is there because several threads come to it: a store that is not ordered with it wipes it out."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check
from smem_lsp.rules.model import Finding, Severity

COUNT = """\
__global__ void count(const int* x, int* out, int n) {
  __shared__ int c;
  if (threadIdx.x == 0) c = 0;
BETWEEN  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (GUARD) atomicAdd(&c, 1);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = c;
}
void host(const int* x, int* out, int n) { count<<<n, 256>>>(x, out, n); }
"""
BINS = """\
__global__ void bins(const int* x, int* out) {
  __shared__ int h[512];
  h[threadIdx.x] = 0;
BETWEEN  if (x[threadIdx.x] >= 0) atomicAdd(&h[PLACE], 1);
  __syncthreads();
  out[threadIdx.x] = h[threadIdx.x];
}
void host(const int* x, int* out) { bins<<<1, 256>>>(x, out); }
"""
BARRIER = "  __syncthreads();\n"


def races(text: str) -> list[Finding]:
    return [each for each in check(text).findings if each.code in ("SMEM201", "SMEM202")]


@pytest.mark.parametrize("guard", ["x[i] > 0", "i < n && x[i] > 0", "x[i] > x[0]"])
def test_a_counter_is_cleared_while_others_count(guard: str) -> None:
    text = COUNT.replace("GUARD", guard)
    (found,) = races(text.replace("BETWEEN", ""))
    assert found.severity is Severity.WARNING
    assert "thread 0 may write `c` (line 3)" in found.message
    assert not races(text.replace("BETWEEN", BARRIER))


def test_bins_that_the_kernel_keeps_inside_are_any_bins() -> None:
    text = BINS.replace("PLACE", "x[threadIdx.x] & 255")
    (found,) = races(text.replace("BETWEEN", ""))
    assert found.severity is Severity.WARNING
    assert not races(text.replace("BETWEEN", BARRIER))


@pytest.mark.parametrize("place", ["x[threadIdx.x]", "256 + (x[threadIdx.x] & 255)"])
def test_bins_that_may_be_others_are_not_told(place: str) -> None:
    """What nothing in the kernel bounds, data may bound."""
    assert not races(BINS.replace("PLACE", place).replace("BETWEEN", ""))
