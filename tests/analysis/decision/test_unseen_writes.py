"""What a function that is not followed does with an address is no atomic operation: it may race with itself."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check

# The function that ``put`` calls is found at run time, so what it does is not followed.
METHODS = """
struct Sink { virtual __device__ void put(int* to, int at); };
template <class D> struct Base {
  __device__ void put(int* to, int at) { static_cast<D*>(this)->store(to, at); }
};
struct Last : Base<Last> { __device__ void store(int* to, int at) { to[at / 4] = at; } };
"""
BODIES = {
    "a method": "Last last; last.put(s, threadIdx.x);",
    "twice": "Last last; last.put(s, threadIdx.x); last.put(s, 255 - threadIdx.x);",
    "between reads": "s[threadIdx.x] = 0; __syncthreads(); Last last; last.put(s, threadIdx.x);",
    "a virtual one": "Sink sink; sink.put(s, threadIdx.x);",
}


@pytest.mark.parametrize("name", BODIES)
def test_a_write_that_is_not_seen_is_not_taken_to_be_atomic(name: str) -> None:
    body = f"__shared__ int s[1024];\n  {BODIES[name]}"
    text = f"{METHODS}__global__ void k() {{\n  {body}\n}}\nvoid launch() {{ k<<<1, 256>>>(); }}\n"
    report = check(text)
    (kernel,) = report.kernels
    assert kernel.verdict.kind is not VerdictKind.RACE_FREE
    assert "SMEM204" not in {finding.code for finding in report.findings}
