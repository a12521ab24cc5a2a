"""Methods and call operators of objects in global memory: their class tells what they do with what they get."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check
from smem_lsp.rules.kernel_verdict import kernel_verdict

TEXT = """\
struct Base {{ int* d; __device__ int first(int i) const {{ return d[i]; }} }};
struct Table : Base {{
  __device__ int operator()(int n, int k) const {{ return d[n * 4 + k]; }}
  __device__ int get(int i) const {{ return d[i] * 2; }}
  __device__ void set(int i, int v) {{ d[i] = v; }}
  __device__ int wait(int i) {{ __syncthreads(); return i; }}
  __device__ int elsewhere(int i);
}};
struct Many {{ int* d; virtual __device__ int get(int i) const {{ return d[i]; }} }};
struct Derived : Many {{ __device__ int get(int i) const {{ return d[i + 1]; }} }};
template <typename T>
__global__ void k(Table* t, Table* ts, Derived* many, T* unknown, int* out, int n) {{
  __shared__ int s[256];
  s[threadIdx.x] = n;
  {call};
  out[threadIdx.x] = s[255 - threadIdx.x];
}}
"""


def kind(call: str) -> VerdictKind:
    (facts,) = check(TEXT.format(call=call)).facts
    return kernel_verdict(facts).kind


@pytest.mark.parametrize(
    "call",
    [
        "out[n] = (*t)(n, 3)",
        "out[n] = ts[n](n, 3)",
        "out[n] = t->get(n)",
        "out[n] = (*t).get(s[threadIdx.x])",
        "out[n] = ts[n].get(n)",
        "out[n] = t->first(n)",
        "t->set(n, s[threadIdx.x])",
    ],
)
def test_what_is_in_sight_orders_nothing(call: str) -> None:
    assert kind(call) is VerdictKind.RACY
    assert kind(f"{call}; __syncthreads()") is VerdictKind.RACE_FREE


@pytest.mark.parametrize(
    "call",
    [
        "out[n] = t->wait(n)",
        "out[n] = t->elsewhere(n)",
        "out[n] = many->get(n)",
        "out[n] = (*unknown)(n, 3)",
        "out[n] = unknown->get(n)",
    ],
)
def test_what_is_not_may_order(call: str) -> None:
    assert kind(call) is VerdictKind.UNDECIDED
