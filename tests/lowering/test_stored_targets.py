"""A store through what a call returns changes what the call was handed: nothing is proved with the value before."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check

TOP = """
__device__ int& same(int& k) { return k; }
__device__ int* address(int* k) { return k; }
__device__ int kept(int k) { return k; }
__device__ void clear(int& k) { k = 3; }
struct Holder { int v; __device__ int& get() { return v; } };
"""
KERNEL = """{top}__global__ void k(int n) {{
  __shared__ int s[1024];
  int r = threadIdx.x;
  {body}
}}
void launch() {{ k<<<1, 64>>>(3); }}
"""
CHANGES = (
    "same(r) = 3; s[r] = threadIdx.x;",
    "same(r) /= 2; s[r] = threadIdx.x;",
    "same(same(r)) /= 2; s[r] = threadIdx.x;",
    "++same(r) /= 2; s[r] = threadIdx.x;",
    "*address(&r) = 3; s[r] = threadIdx.x;",
    "address(&r)[0] = 3; s[r] = threadIdx.x;",
    "int& q = same(r); q = 3; s[r] = threadIdx.x;",
    "int* q = &same(r); *q = 3; s[r] = threadIdx.x;",
    "clear(same(r)); s[r] = threadIdx.x;",
    "Holder h{r}; h.get() /= 2; s[h.v] = threadIdx.x;",
    "auto f = [&]() -> int& { return r; }; f() = 3; s[r] = threadIdx.x;",
    "auto f = [m = r]() mutable { return m /= 2; }; if (f() == 3) s[5] = threadIdx.x;",
)


def verdict(body: str) -> VerdictKind:
    (kernel,) = check(KERNEL.format(top=TOP, body=body)).kernels
    return kernel.verdict.kind


@pytest.mark.parametrize("body", CHANGES)
def test_what_a_call_hands_back_may_be_changed(body: str) -> None:
    assert verdict(body) is not VerdictKind.RACE_FREE


@pytest.mark.parametrize(
    "body", ["s[kept(r)] = 1;", "s[same(r)] = threadIdx.x;", "s[kept(r) + 1] = kept(r);"]
)
def test_what_is_only_read_stays_known(body: str) -> None:
    assert verdict(body) is VerdictKind.RACE_FREE
