"""Pointers that carve a buffer: none is meant to lead into the next one's part, however large a size may be."""

from __future__ import annotations

import pytest

from smem_lsp import check


def codes(body: str, launch: str = "k<<<1, 256, 4 * n>>>(x, y, n);") -> list[str]:
    host = f"void host(const float* x, float* y, int n) {{ {launch} }}"
    text = f"__global__ void k(const float* x, float* y, int n) {{ {body} }}\n{host}\n"
    return [finding.code for finding in check(text).findings if finding.code in ("SMEM201", "SMEM202")]


CARVED = "extern __shared__ float smem[]; float* row = smem; float* tile = row + 32; int t = threadIdx.x;"
FILLED = "for (int i = t; i < n * n; i += 256) tile[i] = x[i]; __syncthreads();"
SUMS = "for (int r = t; r < n; r += 256) { float v = 0; for (int c = 0; c < n; ++c) v += tile[r * n + c]; row[r] = v; }"


def test_a_size_that_is_not_known_leads_out_of_no_part() -> None:
    assert codes(CARVED + FILLED + SUMS + "__syncthreads(); y[t] = row[t & 31];") == []


def test_it_leads_anywhere_in_its_own() -> None:
    assert codes(CARVED + FILLED + SUMS + "y[t] = row[(t + 32) & 63 & n];") == ["SMEM201"]
    assert codes(CARVED + "for (int i = t; i < n; i += 256) tile[i] = x[i]; y[t] = tile[t ^ 64];") == [
        "SMEM201"
    ]


def test_a_helper_is_given_a_part() -> None:
    text = """\
__device__ void put(float* p, const float* x, int n) { for (int i = threadIdx.x; i < n; i += 256) p[i] = x[i]; }
__global__ void k(const float* x, float* y, int n) {
  extern __shared__ float smem[];
  float* row = smem;
  float* tile = smem + 32;
  put(row, x, n);
  put(tile, x + n, n);
}
void host(const float* x, float* y, int n) { k<<<1, 256, 4 * n>>>(x, y, n); }
"""
    assert [finding.code for finding in check(text).findings if finding.code.startswith("SMEM2")] == []


@pytest.mark.parametrize(
    ("distance", "expected"),
    [
        (64, []),  # of one part each, for blocks of 64 threads
        (4, ["SMEM201"]),  # one view of the other, shifted: every block reads across
    ],
)
def test_a_block_that_is_not_known_leads_out_of_no_part_that_a_warp_fits_in(
    distance: int, expected: list[str]
) -> None:
    body = f"__shared__ float s[2048]; float* a = s; float* b = s + {distance}; int t = threadIdx.x;"
    body += "b[t] = x[t]; y[t] = a[t]; __syncthreads();"
    assert codes(body, launch="") == expected


def test_a_block_that_is_known_does() -> None:
    body = "__shared__ float s[2048]; float* a = s; float* b = s + 64; int t = threadIdx.x;"
    body += "b[t] = x[t]; y[t] = a[t]; __syncthreads();"
    assert codes(body, launch="k<<<1, 256>>>(x, y, n);") == ["SMEM201"]
