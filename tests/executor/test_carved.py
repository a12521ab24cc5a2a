"""Dynamic shared memory that is carved by a number of the launch: what is offered, applied and run gives the bytes of
the original.

``python -m tests.benchmarks executor carved --kernels 10000`` runs more random kernels.
"""

from __future__ import annotations

import os

import pytest
from harness import compile_cubin

from executor import Source, build
from executor.carved_kernels import NUMBERS, CarvedKernel
from executor.merging import check_kernels
from executor.random_kernels import listed
from executor.rewriting import differences, outcomes, rewrites
from smem_lsp.engine import check

pytest.importorskip("z3")

KERNELS = int(os.environ.get("SMEM_CARVED_KERNELS", "60"))
_MAIN = f"int main() {{ smem::call_each(run, {listed(NUMBERS)}); }}\n"

PHASES = """#include <cuda_runtime.h>
__global__ void k(const float* in, float* out, int n) {
  extern __shared__ float smem[];
  float* a = smem;
  float* b = a + n;
  for (int i = threadIdx.x; i < n; i += blockDim.x) a[i] = in[i];
  __syncthreads();
  float v = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) v += a[n - 1 - i];
  for (int i = threadIdx.x; i < n; i += blockDim.x) b[i] = v + i;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) v += b[n - 1 - i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
void run(const float* in, float* out, int n) { k<<<2, 64, 2 * n * sizeof(float)>>>(in, out, n); }
"""

TURNS = """#include <cuda_runtime.h>
__global__ void k(const float* in, float* out, int n) {
  extern __shared__ float smem[];
  float* a = smem;
  float* b = a + n;
  float v = in[threadIdx.x];
  for (int turn = 0; turn < 3; ++turn) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) a[i] = in[i] + turn;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) v += a[n - 1 - i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) b[i] = v;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) v += b[n - 1 - i];
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
void run(const float* in, float* out, int n) { k<<<2, 64, 2 * n * sizeof(float)>>>(in, out, n); }
"""

# rows of `n` by `m`, an operand of another type, and a range that lives all the time
TYPES = """#include <cuda_runtime.h>
__global__ void k(const float* in, float* out, int n, int m) {
  extern __shared__ float smem[];
  float* a = smem;
  double* b = reinterpret_cast<double*>(smem + 2 * n * m);
  float* sums = reinterpret_cast<float*>(b + n * m);
  const int tid = threadIdx.x;
  sums[tid] = in[tid];
  for (int row = tid; row < 2 * n; row += blockDim.x)
    for (int column = 0; column < m; ++column) a[row * m + column] = in[row + column];
  __syncthreads();
  for (int i = tid; i < 2 * n * m; i += blockDim.x) sums[tid] += a[2 * n * m - 1 - i];
  __syncthreads();
  for (int i = tid; i < n * m; i += blockDim.x) b[i] = sums[tid] * 0.5;
  __syncthreads();
  for (int i = tid; i < n * m; i += blockDim.x) sums[tid] += (float)b[n * m - 1 - i];
  out[blockIdx.x * blockDim.x + tid] = sums[tid];
}
void run(const float* in, float* out, int n) {
  k<<<2, 64, 4 * n * 3 * sizeof(float) + 64 * sizeof(float)>>>(in, out, n, 3);
}
"""

# a block of any size
BLOCKS = """#include <cuda_runtime.h>
__global__ void k(const float* in, float* out, int n) {
  extern __shared__ float smem[];
  float* a = smem;
  float* b = a + blockDim.x * 4;
  float* c = b + blockDim.x * 4;
  for (int i = threadIdx.x; i < n; i += blockDim.x) c[i] = in[i];
  for (int j = 0; j < 4; ++j) a[j * blockDim.x + threadIdx.x] = in[j + threadIdx.x];
  __syncthreads();
  float v = 0;
  for (int j = 0; j < 4; ++j) v += a[(4 - j) * blockDim.x - 1 - threadIdx.x];
  __syncthreads();
  for (int j = 0; j < 4; ++j) b[threadIdx.x * 4 + j] = v + j;
  __syncthreads();
  for (int j = 0; j < 4; ++j) v += b[j * blockDim.x + threadIdx.x];
  for (int i = 0; i < n; ++i) v += c[i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
void run(const float* in, float* out, int n) { k<<<2, 96, (8 * 96 + n) * sizeof(float)>>>(in, out, n); }
"""


@pytest.mark.parametrize(
    ("text", "bytes_", "barriers", "launch"),
    [
        (PHASES, "8·n → 4·n B", 1, "64, n * sizeof(float)>>>"),
        (TURNS, "8·n → 4·n B", 1, "64, n * sizeof(float)>>>"),
        (TYPES, "16·m·n → 8·m·n B", 0, "2 * n * 3 * sizeof(float) + 64 * sizeof(float)>>>"),
        (BLOCKS, "32·blockDim.x + 4·n → 16·blockDim.x + 4·n B", 0, "96, (4 * 96 + n) * sizeof(float)>>>"),
    ],
    ids=["phases", "turns", "types", "blocks"],
)
def test_ranges_in_terms_share(text: str, bytes_: str, barriers: int, launch: str) -> None:
    (rewrite,) = rewrites(text)
    assert f"{bytes_} of dynamic shared memory" in rewrite.title
    assert rewrite.text.count("__syncthreads();") == text.count("__syncthreads();") + barriers
    assert launch in rewrite.text and launch not in text
    report = check(rewrite.text)
    assert not [each for each in report.findings if each.code.startswith(("SMEM1", "SMEM2"))]
    with build([Source("before", text + _MAIN), Source("after", rewrite.text + _MAIN)]) as programs:
        seen = outcomes(programs, ["before", "after"], range(6))
    assert differences(seen["before"], seen["before"]) == ""
    assert differences(seen["before"], seen["after"]) == ""


@pytest.mark.parametrize("text", [PHASES, TURNS], ids=["phases", "turns"])
def test_without_its_barrier_the_rewrite_races(text: str) -> None:
    (rewrite,) = rewrites(text)
    lines = rewrite.text.splitlines(keepends=True)
    wrong = "".join(line for line in lines if "__syncthreads();  //" not in line)
    assert wrong != rewrite.text
    with build([Source("wrong", wrong + _MAIN)]) as programs:
        assert any(each.race_count for each in outcomes(programs, ["wrong"], range(3))["wrong"])


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (PHASES, "v += b[n - 1 - i]", "v += b[n - 1 - i] + a[i]"),  # holds a value
        (PHASES, "float v = 0;", "float v = b - a;"),
        (PHASES, "a[i] = in[i]", "a[i] = in[i], smem[n + i] = 1.0f"),
        (TURNS, "i < n; i += blockDim.x) b[i]", "i < n - 1; i += blockDim.x) b[i]"),  # filled in part
        (TYPES, "a[row * m + column]", "a[row * (m + 1) + column]"),  # beyond its rows
        (BLOCKS, "a[j * blockDim.x + threadIdx.x]", "a[j * n + threadIdx.x]"),
    ],
)
def test_what_would_change_the_result_is_not_offered(text: str, old: str, new: str) -> None:
    assert old in text
    assert rewrites(text.replace(old, new)) == []


@pytest.mark.parametrize("text", [PHASES, TURNS, TYPES, BLOCKS], ids=["phases", "turns", "types", "blocks"])
def test_a_rewrite_compiles(text: str) -> None:
    (rewrite,) = rewrites(text)
    found = compile_cubin(rewrite.text, "sm_80")
    assert (found.error, found.warnings) == ("", ())


@pytest.mark.slow(seconds=20)
def test_random_ranges_keep_what_the_kernel_puts_out() -> None:
    found = check_kernels(list(range(KERNELS)), 2, CarvedKernel)
    assert found.unfit == []
    assert found.mismatches == []
    assert found.races == 0
    assert found.rewritten > KERNELS // 5


def test_a_carved_kernel_comes_from_its_seed() -> None:
    texts = [CarvedKernel(seed).text() for seed in range(9)]
    assert texts == [CarvedKernel(seed).text() for seed in range(9)]
    assert len(set(texts)) == 9
