"""Kernels that nobody in sight launches: an array of an unknown extent says how large their block is."""

from __future__ import annotations

import pytest
from carets import codes, expect

from smem_lsp.config import Config
from smem_lsp.engine import check
from smem_lsp.rules.model import Severity

RACES = ("SMEM201", "SMEM202", "SMEM203", "SMEM204", "SMEM205", "SMEM206", "SMEM210")


def told(text: str) -> list[str]:
    return codes(check(text, config=Config(select=("SMEM2", "SMEM210"))), among=RACES)


def test_one_row_of_threads() -> None:
    report = expect(
        """
template <int BLOCK>
__global__ void reversed(const float* in, float* out) {
  __shared__ float s[BLOCK];
  s[threadIdx.x] = in[threadIdx.x];
  out[threadIdx.x] = s[BLOCK - 1 - threadIdx.x];
//                   ^^^^^^^^^^^^^^^^^^^^^^^^^^ SMEM201 in whole warps, when blockDim.x is BLOCK
}

template <class Policy>
__global__ void shifted(const float* in, float* out) {
  __shared__ float s[Policy::threads];
  s[threadIdx.x] = in[threadIdx.x];
  out[threadIdx.x] = s[(threadIdx.x + 32) % Policy::threads];
//                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ SMEM201 when blockDim.x is Policy::threads
}
"""
    )
    assert {(each.severity, each.verdict) for each in report.findings} == {(Severity.WARNING, "likely")}


TRANSPOSED = """
template <int TILE>
__global__ void transposed(const float* in, float* out, int n) {{
  __shared__ float tile[TILE][TILE + 1];
  for (int i = 0; i < n; ++i) {{
    tile[threadIdx.y][threadIdx.x] = in[(i * TILE + threadIdx.y) * TILE + threadIdx.x];
    __syncthreads();
    out[(i * TILE + threadIdx.y) * TILE + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
    {end}
  }}
}}
"""
LAUNCH = """
template <int TILE> void run(const float* in, float* out, int n) {
  transposed<TILE><<<1, dim3(TILE, TILE)>>>(in, out, n);
}
"""


def test_a_tile_with_a_padded_row() -> None:
    report = check(TRANSPOSED.format(end=""))
    (finding,) = [each for each in report.findings if each.code == "SMEM201"]
    assert finding.severity is Severity.WARNING
    assert "when blockDim.x is TILE and blockDim.y is TILE" in finding.message
    assert told(TRANSPOSED.format(end="__syncthreads();")) == []


def test_a_launch_of_such_a_tile_says_so_itself() -> None:
    report = check(TRANSPOSED.format(end="") + LAUNCH)
    (finding,) = [each for each in report.findings if each.code == "SMEM201"]
    assert finding.severity is Severity.WARNING
    assert finding.message.endswith("for every block of 32 threads or more, in rows of whole warps")
    assert told(TRANSPOSED.format(end="__syncthreads();") + LAUNCH) == []


HALVED = """
template <int BLOCK>
__global__ void total(const float* in, float* out) {{
  __shared__ float s[BLOCK];
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (int k = BLOCK / 2; k > 0; k >>= 1) {{
    if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
    {end}
  }}
  if (threadIdx.x == 0) out[0] = s[0];
}}
"""


def test_a_sum_by_halves() -> None:
    assert told(HALVED.format(end="")) != []
    assert told(HALVED.format(end="__syncthreads();")) == []


PRODUCT = """
template <int M, int N, int K>
__global__ void product(const float* a, const float* b, float* c, int k, int n) {{
  __shared__ float as[M][K];
  __shared__ float bs[K][N];
  float sum = 0;
  for (int at = 0; at < k; at += K) {{
    as[threadIdx.y][threadIdx.x] = a[threadIdx.y * k + at + threadIdx.x];
    bs[threadIdx.y][threadIdx.x] = b[(at + threadIdx.y) * n + threadIdx.x];
    __syncthreads();
    for (int i = 0; i < K; ++i) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
    {end}
  }}
  c[threadIdx.y * n + threadIdx.x] = sum;
}}
"""


def test_two_tiles_that_one_block_fills() -> None:
    findings = [each for each in check(PRODUCT.format(end="")).findings if each.code == "SMEM201"]
    assert {each.severity for each in findings} == {Severity.WARNING}
    assert all("when blockDim.x is K and N and blockDim.y is M and K" in each.message for each in findings)
    assert told(PRODUCT.format(end="__syncthreads();")) == []


@pytest.mark.parametrize(
    "body",
    [
        # each thread has its own element
        "s[threadIdx.x] = in[threadIdx.x]; out[threadIdx.x] = s[threadIdx.x];",
        # a block that is larger than the array keeps its other threads away: it says nothing of the block
        "if (threadIdx.x < BLOCK) s[threadIdx.x] = in[threadIdx.x]; __syncthreads();"
        " if (threadIdx.x < BLOCK) out[threadIdx.x] = s[BLOCK - 1 - threadIdx.x];",
        "if (threadIdx.x >= BLOCK) return; s[threadIdx.x] = in[threadIdx.x]; __syncthreads();"
        " out[threadIdx.x] = s[BLOCK - 1 - threadIdx.x];",
        # in rounds, for a block of any size
        "for (int i = threadIdx.x; i < BLOCK; i += blockDim.x) s[i] = in[i]; __syncthreads();"
        " for (int i = threadIdx.x; i < BLOCK; i += blockDim.x) out[i] = s[BLOCK - 1 - i];",
        # apart in a block of that size only
        "s[threadIdx.x] = in[threadIdx.x]; out[threadIdx.x] = s[threadIdx.x % BLOCK];",
        "s[threadIdx.x] = in[threadIdx.x]; __syncwarp(); out[threadIdx.x] = s[threadIdx.x ^ 1];",
    ],
)
def test_what_is_in_order(body: str) -> None:
    text = f"""
template <int BLOCK>
__global__ void k(const float* in, float* out) {{
  __shared__ float s[BLOCK];
  {body}
}}
"""
    assert [each for each in told(text) if each != "SMEM204"] == []


WITHIN = """
template <int WIDTH>
__global__ void turned(const float* in, float* out) {{
  __shared__ float s[WIDTH];
  {before}
  s[threadIdx.x] = in[threadIdx.x];
  {between}
  out[threadIdx.x] = s[(threadIdx.x + 1) % WIDTH];
}}
"""


@pytest.mark.parametrize(
    ("before", "between", "found"),
    [
        ("", "__syncwarp();", []),
        ("", "float v = __shfl_sync(0xffffffff, in[threadIdx.x], 0);", []),
        ("s[threadIdx.x] = 0; __syncthreads();", "__syncwarp();", ["SMEM201"]),
        ("", "", ["SMEM201"]),
    ],
)
def test_a_kernel_in_which_only_lanes_meet_may_be_meant_for_one_warp(
    before: str, between: str, found: list[str]
) -> None:
    assert told(WITHIN.format(before=before, between=between)) == found
