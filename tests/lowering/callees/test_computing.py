"""Functions that only compute a number of their arguments are as uniform as these, though nobody follows them."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check

FREE = VerdictKind.RACE_FREE
CASES = " ".join(f"if (n == {1 << i}) return {i};" for i in range(1, 11))
LOG = f"{{head}} {{{{ {CASES} {{last}} }}}}"
KERNEL = """
{function}
__global__ void k(const float* in, float* out, int n) {{
  __shared__ float s[1024];
  int t = threadIdx.x, half = blockDim.x >> 1;
  const int turns = {call};
  s[t] = in[t];
  for (int i = 0; i < turns; ++i, half >>= 1) {{
    __syncthreads();
    if (t < half) s[t] += s[t + half];
  }}
  if (t == 0) out[0] = s[0];
}}
void go(const float* in, float* out, int n) {{ k<<<1, 256>>>(in, out, n); }}
"""


def verdict(head: str, last: str = "return 1;", call: str = "steps(n)") -> VerdictKind:
    text = KERNEL.format(function=LOG.format(head=head, last=last), call=call)
    (found,) = check(text).facts[0].analysis.verdicts
    return found.kind


@pytest.mark.parametrize(
    ("head", "last"),
    [
        ("__device__ int steps(int n)", "return 1;"),
        ("__device__ inline long steps(const long n)", "long r = 0; while (n > r * r) ++r; return r;"),
        ("__device__ int steps(int n)", "for (int i = 0; i < n; ++i) { int j = i; n += j; } return n;"),
        ("__host__ __device__ int steps(uint32_t n)", "return 32 - __clz(max(n, 1));"),
    ],
)
def test_all_threads_get_the_same_number(head: str, last: str) -> None:
    assert verdict(head, last) is FREE


@pytest.mark.parametrize(
    ("head", "last"),
    [
        ("__device__ int steps(int n)", "return threadIdx.x & 3;"),
        ("__device__ int steps(int n)", "return __shfl_sync(~0u, n, 3);"),
        ("__device__ int at; __device__ int steps(int n)", "return at;"),
        ("__device__ int steps(int n)", "static int calls; return calls++;"),
        ("__device__ int steps(int n)", "return clock();"),
        ("__device__ int at; __device__ int steps(int n)", "if (n > 3) { int at = 1; n += at; } return at;"),
        (
            "__device__ int at; __device__ int steps(int n)",
            "for (int at = 0; at < n; ++at) { n += 2; } return at;",
        ),
        ("__device__ int other(int); __device__ int steps(int n)", "return other(n);"),
        ("__device__ int min(int n) { return threadIdx.x; } __device__ int steps(int n)", "return min(n);"),
        ("__device__ int steps(const int& n)", "return 1;"),
        ("__device__ int steps(int n)", 'int r; asm("mov.u32 %0, %laneid;" : "=r"(r)); return r;'),
    ],
)
def test_they_may_get_different_numbers(head: str, last: str) -> None:
    assert verdict(head, last) is not FREE


def test_of_each_thread_its_own_number() -> None:
    assert verdict("__device__ int steps(int n)", call="steps(t)") is not FREE
    assert verdict("__device__ int steps(int n, int m = threadIdx.x)") is not FREE
