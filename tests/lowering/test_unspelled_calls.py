"""A function that is called without its name, in a function of several that may be meant: it may wait."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check

CLASS = """
struct Q {
  int v;
  __device__ int operator[](int k) const { __syncthreads(); return k; }
  __device__ int operator()(int k) const { __syncthreads(); return k; }
  __device__ operator bool() const { __syncthreads(); return true; }
  __device__ Q operator+(int) const { __syncthreads(); return *this; }
  __device__ const int* begin() const { __syncthreads(); return &v; }
  __device__ const int* end() const { return &v + 1; }
};
"""


@pytest.mark.parametrize(
    "statement", ["q[1];", "q(1);", "if (q) {}", "q + 1;", "for (auto x : q) {}", "while (!q) {}"]
)
def test_no_race_is_told_behind_a_call_that_may_wait(statement: str) -> None:
    (report,) = check(
        f"""
{CLASS.replace("operator bool", "operator bool" if "+" not in statement else "operator bool*")}
template <class T> __device__ std::enable_if_t<mystery<T>::value> f(T) {{ Q q; {statement} }}
template <class T> __device__ std::enable_if_t<!mystery<T>::value> f(T) {{ }}
__global__ void k(int* o) {{
  __shared__ int s[64];
  s[threadIdx.x] = 1;
  f(1);
  o[threadIdx.x] = s[5];
}}
void host(int* o) {{ k<<<1, 64>>>(o); }}
"""
    ).kernels
    assert report.verdict is not None
    assert report.verdict.kind.value == "undecided"
