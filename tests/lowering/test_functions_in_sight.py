"""Bytes are exact only where every function that a kernel calls is in sight: others may have shared arrays."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check
from smem_lsp.ir.causes import Opens
from tests.causes import left_open

KERNEL = """\
{above}
__global__ void k(float* p) {{
  __shared__ float s[64];
  s[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  p[threadIdx.x] = s[63 - threadIdx.x] + {call};
}}
"""


@pytest.mark.parametrize(
    ("above", "call", "exact"),
    [
        ("", "sqrtf(p[0])", True),
        ("", "fmaxf(p[0], 0.0f)", True),
        ("", "__shfl_sync(~0u, p[0], 0)", True),
        ("__device__ float seen(float x) { return x * x; }", "seen(p[0])", True),
        ("struct One { float x; };", "One{1.0f}.x", True),
        ("", "__low2float(h2sqrt(__float2half2_rn(p[0])))", True),
        ("", "curand_uniform(&state)", True),
        ("", "cub::Max()(p[0], p[1])", True),
        ("", "float(__shfl_xor_sync(uint32_t(-1), p[0], 1))", True),
        ("", "gpuAtomicAdd(p, 1.0f)", True),
        ("", "glm::dot(glm::vec3(p[0]), glm::vec3(1.0f))", True),
        ("using index_t = long;", "index_t(p[0])", True),
        ("", "unseen(p[0])", False),
        ("__device__ float declared(float);", "declared(p[0])", False),
        ('#include "gone.cuh"', "gone::unseen(p)", False),
    ],
)
def test_exact(above: str, call: str, exact: bool) -> None:
    report = check(KERNEL.format(above=above, call=call), path="k.cu")
    assert report.kernels[0].static_bytes == 256
    assert report.kernels[0].exact is exact


@pytest.mark.parametrize(("count", "exact"), [(257, False), (256, True)])
def test_a_missing_header_may_round_totals(count: int, exact: bool) -> None:
    text = KERNEL.format(above='#include "gone.cuh"', call="0").replace("64", str(count))
    assert check(text, path="k.cu").kernels[0].exact is exact


PROTOTYPE = """\
{above}
__global__ void k(int* out, int n) {{
  __shared__ int s[128];
  int t = threadIdx.x;
  for (int i = 0; i < n; ++i) {{
    s[t] = i;
    {call}
    out[i] = s[t];
  }}
}}
void go(int* out, int n) {{ k<<<1, 128>>>(out, n); }}
"""


@pytest.mark.parametrize(
    ("above", "apart"),
    [
        ("__device__ void next(int t);", True),
        ("__device__ void next(int);", True),
        ("__device__ void next(const int& t);", True),
        ("__device__ void next(int t); __device__ void next(float t);", True),
        ("__device__ void next(int& t);", False),
        ("__device__ void next(int t); __device__ void next(int& t);", False),
        ("template <typename T> __device__ void next(T t);", False),
        ("__device__ void next(unseen_t t);", False),
        ("__device__ void next(...);", False),
        ("", False),
    ],
)
def test_a_declaration_says_whether_an_argument_may_be_changed(above: str, apart: bool) -> None:
    (found,) = check(PROTOTYPE.format(above=above, call="next(t);")).facts[0].analysis.verdicts
    assert (found.kind is VerdictKind.RACE_FREE) == apart


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("for (int i = t; i < n; i += 128) s[i] = unseen(i); __syncthreads(); out[t] = s[0];", "race-free"),
        (
            "for (int i = t; i < n; i += 128) s[i] = in.row(i)[t]; __syncthreads(); out[t] = s[0];",
            "race-free",
        ),
        ("for (int i = t; i < n; i += 128) { unseen(i); s[i] = t; s[i / 2] = t; }", "racy"),
        ("int i = t; unseen(i); s[i] = t;", "undecided"),
        ("for (int i = t; i < n; i += 128) unseen(&i), s[i] = t;", "undecided"),
    ],
)
def test_a_call_leaves_the_counter_of_a_loop_alone(body: str, kind: str) -> None:
    text = f"""
__global__ void k(In in, int* out, int n) {{
  __shared__ int s[1024];
  int t = threadIdx.x;
  {body}
}}
void go(In in, int* out, int n) {{ k<<<1, 128>>>(in, out, n); }}
"""
    (found,) = check(text).facts[0].analysis.verdicts
    assert found.kind.value == kind
    assumed = left_open(check(text).facts[0].kernel, Opens.ASSUMED)
    assert any("leaves i as it is" in each for each in assumed) == (kind != "undecided")
