"""Matrices that a warp loads and stores: which bytes they are is known, which lane moves which of them is not."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check

FRAME = """
#include <mma.h>
#include <cuda_fp16.h>
using namespace nvcuda;
__global__ void k(const half* in, half* out, int n) {{
  __shared__ half a[2][128][40];
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> f;
  wmma::fragment<wmma::accumulator, 16, 16, 16, half> sum;
  int t = threadIdx.x, w = t / 32;
  for (int i = t; i < 2 * 128 * 40; i += 256) (&a[0][0][0])[i] = in[i];
  __syncthreads();
  {body}
  out[t] = f.x[0];
}}
void go(const half* in, half* out, int n) {{ k<<<1, 256>>>(in, out, n); }}
"""
DOUBLE = """
for (int s = 0; s < n; s++) {{
  for (int i = t; i < 128 * 40; i += 256) (&a[{next}][0][0])[i] = in[i];
  wmma::load_matrix_sync(f, &a[s % 2][w * 16][0], 40);
  __syncthreads();
}}
"""


def verdict(body: str) -> str:
    (kernel,) = check(FRAME.format(body=body)).kernels
    assert kernel.verdict is not None
    return kernel.verdict.kind.value


@pytest.mark.parametrize(
    "body",
    [
        DOUBLE.format(next="(s + 1) % 2"),
        "a[0][w * 16 + t % 16][32 + t % 32 / 16] = in[3]; wmma::load_matrix_sync(f, &a[0][w * 16][0], 40);",
        "wmma::store_matrix_sync(&a[0][w * 16][16], sum, 40, wmma::mem_row_major);",
        "for (int j = 0; j < 2; j++) wmma::store_matrix_sync(&a[0][w * 16][j * 16], sum, 40, wmma::mem_row_major);",
    ],
)
def test_matrices_of_warps_lie_apart(body: str) -> None:
    assert verdict(body) == "race-free"


@pytest.mark.parametrize(
    "body",
    [
        DOUBLE.format(next="s % 2"),
        "a[0][(w + 1) % 8 * 16 + 3][t % 32] = in[3]; wmma::load_matrix_sync(f, &a[0][w * 16][0], 40);",
        "a[0][w * 16 + 3][t % 32] = in[3]; wmma::load_matrix_sync(f, &a[0][w * 16][0], 40);",
        "wmma::store_matrix_sync(&a[0][w * 15][16], sum, 40, wmma::mem_row_major);",
        "wmma::store_matrix_sync(&a[0][0][w * 16], sum, 40, wmma::mem_col_major);",
        "wmma::store_matrix_sync(&a[0][w * 16][16], sum, n, wmma::mem_row_major);",
    ],
)
def test_others_may_meet(body: str) -> None:
    assert verdict(body) != "race-free"
