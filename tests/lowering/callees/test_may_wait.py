"""Calls of functions in sight that are too large to follow: do they hide a race?"""

from __future__ import annotations

from pathlib import Path

import pytest
from carets import expect

from smem_lsp.engine import check
from smem_lsp.environment import DiskReader

LARGE = " ".join(f"v = v * {n}.5f + sqrtf(v);" for n in range(12))


def kernel(helper: str, mark: str = "") -> str:
    return f"""\
{helper}
__global__ void __launch_bounds__(256) k(const float* x, float* y) {{
  __shared__ float s[256];
  // smem: assume(blockDim.x == 256)
  float v = x[threadIdx.x];
  s[threadIdx.x] = v;
  v = blend(v);
  y[threadIdx.x] = v + s[threadIdx.x ^ 64];
{mark}
}}
"""


RACE = "//                     ^^^^^^^^^^^^^^^^^^^ SMEM201"


def test_arithmetic_orders_nothing() -> None:
    expect(kernel(f"__device__ float blend(float v) {{ {LARGE} return v; }}", RACE))


def test_what_it_calls_is_looked_at() -> None:
    inner = f"__device__ float inner(float v) {{ {LARGE} return v; }}\n"
    expect(kernel(inner + f"__device__ float blend(float v) {{ {LARGE} return inner(v); }}", RACE))
    of_type = f"template <class T> {inner}"
    expect(kernel(of_type + f"__device__ float blend(float v) {{ {LARGE} return inner<float>(v); }}", RACE))
    waits = f"__device__ float inner(float v) {{ {LARGE} elsewhere(v); return v; }}\n"
    expect(kernel(waits + f"__device__ float blend(float v) {{ {LARGE} return inner(v); }}"))


@pytest.mark.parametrize(
    "more",
    [
        "elsewhere();",
        "group.sync();",
        "ns::elsewhere();",
        "elsewhere<3>(v);",
        "elsewhere<pair<int, int>>(v);",
        "v = __shfl_sync(~0u, v, 0);",
        "volatile float* p = &v; while (*p < 0) {}",
        "MACRO(v);",
    ],
)
def test_what_may_wait_for_others_hides_a_race(more: str) -> None:
    expect(kernel(f"__device__ float blend(float v) {{ {LARGE} {more} return v; }}"))


@pytest.mark.parametrize(
    ("more", "told"), [("", True), ("elsewhere(v);", False), ("__syncthreads();", False)]
)
def test_what_headers_define_is_looked_at(tmp_path: Path, more: str, told: bool) -> None:
    inner = f"template <class T> __device__ T inner(T v) {{ {LARGE} {more} return v; }}\n"
    (tmp_path / "inner.cuh").write_text(inner)
    blend = f"__device__ float blend(float v) {{ {LARGE} return inner<float>(v); }}"
    text = kernel('#include "inner.cuh"\n' + blend)
    found = check(text, path=str(tmp_path / "k.cu"), reader=DiskReader())
    assert ("SMEM201" in {each.code for each in found.findings}) is told


def test_a_function_out_of_sight_may_wait() -> None:
    expect(kernel("__device__ float blend(float v);"))


def test_it_calls_itself() -> None:
    helper = f"__device__ float blend(float v) {{ {LARGE} return v < 0 ? blend(v + 1) : v; }}"
    expect(kernel(helper, RACE))


@pytest.mark.parametrize(
    "call",
    ["float v = elsewhere(x[i]);", "float v; Scan(storage).InclusiveSum(x[i], v);"],
)
def test_what_starts_an_iteration_may_wait_every_time(call: str) -> None:
    text = f"""\
#include <cub/cub.cuh>
__device__ float elsewhere(float v);
__global__ void __launch_bounds__(256) k(const float* x, float* y, int n) {{
  using Scan = cub::BlockScan<float, 256>;
  __shared__ typename Scan::TempStorage storage;
  __shared__ float total;
  // smem: assume(blockDim.x == 256)
  for (int i = 0; i < n; ++i) {{
    {call}
    if (threadIdx.x == 255) total = v;
    __syncthreads();
    y[i] += total;
  }}
}}
"""
    expect(text, among=("SMEM201",))
    marked = text.replace("total = v;\n", "total = v;\n//                          ^^^^^ SMEM201\n")
    expect(marked.replace(call, "float v = x[i];"), among=("SMEM201",))
