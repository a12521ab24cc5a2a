"""The number of a thread in its block by itself: products of sizes and coordinates stay out of the question."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check

KERNEL = """\
__global__ void k(const float* in, float* out, int n) {{
  extern __shared__ float s[];
  const unsigned size = {size};
  unsigned rank = {rank};
  float* a = s;
  float* b = &a[3 * size];
  float* c = &b[3 * size];
  for (int i = 0; i < n; ++i) {{
    a[3 * rank] = a[3 * rank + 1] = a[3 * rank + 2] = in[rank + i + threadIdx.y];
    b[3 * rank] = b[3 * rank + 1] = b[3 * rank + 2] = in[rank];
    for (int j = 0; j < 5; ++j) c[{place} + j] = in[j];
    __syncthreads();
    float sum = 0;
    for (unsigned t = 0; t < size; ++t) sum += a[3 * t] + b[3 * t + 2] + c[5 * t];
    __syncthreads();
    if (threadIdx.y < n) out[rank] = sum;
  }}
}}
void h(const float* in, float* out, int n, int w, int h) {{ k<<<1, dim3(w, h), 44 * w * h>>>(in, out, n); }}
"""
SIZES = [
    "blockDim.x * blockDim.y",
    "blockDim.x * blockDim.y * blockDim.z",
    "blockDim.z * (blockDim.y * blockDim.x)",
]
RANKS = [
    "threadIdx.x + blockDim.x * threadIdx.y",
    "threadIdx.y * blockDim.x + threadIdx.x",
    "(threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x",
    "threadIdx.x + threadIdx.y * blockDim.x + threadIdx.z * blockDim.x * blockDim.y",
]


def verdict(size: str, rank: str, place: str) -> VerdictKind:
    (kernel,) = check(KERNEL.format(size=size, rank=rank, place=place)).kernels
    return kernel.verdict.kind


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("rank", RANKS)
def test_ranges_of_a_share_for_each_thread_are_apart(size: str, rank: str) -> None:
    assert verdict(size, rank, "5 * rank") is VerdictKind.RACE_FREE


@pytest.mark.parametrize(
    ("size", "rank", "place"),
    [
        (SIZES[0], RANKS[0], "4 * rank"),  # the next thread's first one is written
        (SIZES[0], "threadIdx.x + blockDim.y * threadIdx.y", "5 * rank"),
        (SIZES[0], "threadIdx.x + threadIdx.y", "5 * rank"),
        (SIZES[0], RANKS[0], "5 * rank - 1"),  # that of the last thread in b
    ],
)
def test_others_are_not(size: str, rank: str, place: str) -> None:
    assert verdict(size, rank, place) is not VerdictKind.RACE_FREE
