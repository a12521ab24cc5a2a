"""What a kernel asserts of its block."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check
from smem_lsp.ir.author_facts import Annotations

KERNEL = """\
#define N 256
constexpr int M = 64;
template <int B>
__global__ void k(float* p) {{
  int t = threadIdx.x;
  {body}
  p[t] = 0;
}}
template __global__ void k<32>(float*);
"""


def stated(body: str) -> Annotations:
    return check(KERNEL.format(body=body)).kernels[0].kernel.stated


@pytest.mark.parametrize(
    ("body", "equal"),
    [
        ("assert(blockDim.x == N);", {"x": 256}),
        ("assert(M == blockDim.x && blockDim.y == 1);", {"x": 64, "y": 1}),
        ("__builtin_assume(blockDim.x == B);", {"x": 32}),
        ("if (blockDim.x != B * 2) return;", {"x": 64}),
        ("if (blockDim.x != 8 || blockDim.y != 4) { __trap(); }", {"x": 8, "y": 4}),
        ("if (blockDim.x != 8 && blockDim.y != 4) return;", {}),
        ("if (blockDim.x == 8) return;", {}),
        ("assert(blockDim.x == 8 || blockDim.x == 16);", {}),
        ("assert(blockDim.x == t);", {}),
        ("if (blockDim.x != 8) p[0] = 1;", {}),
        ("if (blockDim.x != 8) { p[0] = 1; return; }", {}),
        ("if (blockDim.x != 8) return; else p[0] = 1;", {}),
        ("for (int i = 0; i < 2; ++i) ; assert(blockDim.x == N);", {}),
        ("assert(gridDim.x == N);", {}),
    ],
)
def test_an_exact_block(body: str, equal: dict[str, int]) -> None:
    assert dict(stated(body).asserted) == equal


@pytest.mark.parametrize(
    ("body", "most"),
    [
        ("assert(blockDim.x <= N);", {"x": 256}),
        ("assert(blockDim.x < N);", {"x": 255}),
        ("if (blockDim.x > 128) return;", {"x": 128}),
        ("if (128 < blockDim.x) return;", {"x": 128}),
        ("assert(blockDim.x >= 32);", {}),
    ],
)
def test_a_bound(body: str, most: dict[str, int]) -> None:
    assert dict(stated(body).asserted_most) == most
