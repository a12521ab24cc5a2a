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


UP_TO_A_LIMIT = """\
__global__ void bins(const float* x, float* out, int n, int many, int other, float low) {
  __shared__ int h[1024];
  auto count = [&](float value) {
    value -= low;
    int bin = (int)value;
    LIMIT
    atomicAdd(&h[bin], 1);
  };
  for (int i = threadIdx.x; i < many; i += 256) h[i] = 0;
BETWEEN  for (int i = threadIdx.x; i < n; i += 256) count(x[i]);
  __syncthreads();
  for (int i = threadIdx.x; i < many; i += 256) out[i] = h[i];
}
void host(const float* x, float* out, int n, int many, int other, float low) {
  bins<<<1, 256>>>(x, out, n, many, other, low);
}
"""


@pytest.mark.parametrize(
    "limit",
    [
        "if (bin < 0) bin = 0; if (bin > many - 1) bin = many - 1;",
        "if (bin < 0 || bin >= many) return;",
    ],
)
def test_bins_up_to_the_limit_of_those_that_are_cleared(limit: str) -> None:
    """Sizes for which they leave the buffer are none for which the others stay inside."""
    text = UP_TO_A_LIMIT.replace("LIMIT", limit)
    (found,) = races(text.replace("BETWEEN", ""))
    assert found.severity is Severity.WARNING
    assert not races(text.replace("BETWEEN", BARRIER))


@pytest.mark.parametrize("limit", ["", "if (bin < 0 || bin >= other) return;", "if (bin >= many) return;"])
def test_bins_up_to_another_limit(limit: str) -> None:
    assert not races(UP_TO_A_LIMIT.replace("LIMIT", limit).replace("BETWEEN", ""))
