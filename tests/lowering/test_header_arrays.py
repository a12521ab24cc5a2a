"""Arrays of functions that headers define belong to the total of a kernel: it is exact where every call is followed."""

from __future__ import annotations

from pathlib import Path

import pytest
from ptxas import entries
from store import compiled
from toolchain import nvcc, require

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check
from smem_lsp.environment import DiskReader
from tests.causes import unknown

HEADER = """\
#pragma once
template <typename T, int N> __device__ T sum(T value) {
  __shared__ T part[N];
  part[threadIdx.x % N] = value;
  __syncthreads();
  T all = 0;
  for (int i = 0; i < N; ++i) all += part[i];
  __syncthreads();
  return all;
}
__device__ inline int twice(int value) { return sum<int, 8>(value) + sum<int, 16>(value); }
__device__ inline int deep(int n) { return n > 0 ? deep(n - 1) + sum<int, 4>(n) : 0; }
struct Keeper {
  __device__ int keep(int value) { __shared__ int kept[5]; kept[value % 5] = value; __syncthreads(); return kept[0]; }
};
typedef int (*Function)(int);
template <Function F> __device__ int apply(int value) { return F(value) + 1; }
template <Function F> __device__ int hand(int value) { Function f = F; return f(value) + F(value); }
__device__ inline int plain(int value) { return value * 3; }
template <int N> __device__ int reduced(int value) {
  if constexpr (N > 1) { value = sum<int, N>(value); }
  return value;
}
template <int N> __device__ int reduced_or_kept(int value) {
  if constexpr (N > 1) return reduced<N>(value); else return Keeper().keep(value);
}
"""

# what the kernel calls -> is an exact total claimed?
CALLS = {
    "sum<float, 32>(n)": True,
    "sum<float, 32>(n) + sum<float, 32>(n + 1)": True,
    "sum<float, 32>(n) + sum<int, 32>(n)": True,
    "twice(n)": True,
    "apply<twice>(n)": True,
    "plain(n)": True,
    "reduced<8>(n)": True,
    "reduced<1>(n)": True,
    "reduced<1>(n) + reduced<16>(n)": True,
    "reduced_or_kept<1>(n)": False,
    "hand<twice>(n)": False,
    "deep(n)": False,
    "Keeper().keep(n)": False,
    "[](int (*f)(int), int x) { return f(x); }(twice, n)": False,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sums.cuh").write_text(HEADER, encoding="utf-8")
    return tmp_path


def kernels() -> str:
    return '#include "sums.cuh"\n' + "\n".join(
        f"__global__ void k{number}(float* o, int n) {{ __shared__ float own[7]; own[threadIdx.x % 7] = n;"
        f" __syncthreads(); o[threadIdx.x] = own[n] + {call}; }}"
        for number, call in enumerate(CALLS)
    )


def test_exact_is_claimed_where_every_call_is_followed(folder: Path) -> None:
    path = folder / "k.cu"
    path.write_text(kernels(), encoding="utf-8")
    reports = check(kernels(), path=str(path), reader=DiskReader()).kernels
    assert dict(zip(CALLS, (report.exact for report in reports))) == CALLS
    flags = ["-arch=sm_90", "-cubin", "-Xptxas", "-v", "-o", str(folder / "out.cubin")]
    compiler = require(nvcc(), "nvcc is not installed")
    done = compiled([compiler, *flags, path], folder, seconds=300)
    assert done.code == 0, done.stderr[-2000:]
    printed = {entry.name: entry.shared for entry in entries(done.stdout + done.stderr)}
    claimed = {r.kernel.name: r.static_bytes for r in reports if r.exact}
    assert claimed == {name: printed[name] for name in claimed}


@pytest.mark.parametrize(
    ("specifier", "followed"),
    [
        ("__device__ inline", True),
        ("DEVICE", True),
        ("static DEVICE", True),
        ("inline", False),
        ("api", False),
    ],
)
def test_a_macro_that_nothing_defines_may_say_that_a_function_is_one_of_the_device(
    specifier: str, followed: bool, tmp_path: Path
) -> None:
    header = f"""\
#pragma once
template <typename T> {specifier} T summed(T value, T* part) {{
  part[threadIdx.x] = value;
  __syncthreads();
  return part[threadIdx.x ^ 1];
}}
"""
    (tmp_path / "summed.cuh").write_text(header)
    source = tmp_path / "k.cu"
    text = """\
#include "summed.cuh"
__global__ void k(float* p) {
  __shared__ float a[64];
  p[threadIdx.x] = summed(p[threadIdx.x], a);
}
void host(float* p) { k<<<1, 64>>>(p); }
"""
    source.write_text(text)
    (facts,) = check(text, path=str(source), reader=DiskReader()).facts
    free = [each.kind is VerdictKind.RACE_FREE for each in facts.analysis.verdicts]
    assert free == [followed] and bool(unknown(facts.kernel)) is not followed


@pytest.mark.parametrize(("index", "found"), [("t", VerdictKind.RACE_FREE), ("t / 2", VerdictKind.RACY)])
@pytest.mark.parametrize(
    ("header", "call"),
    [
        (
            "__device__ void put(int* s, int t); __device__ inline void by(int* s, int t) { put(s, t); }",
            "by(s, t);",
        ),
        ("template <class T> __device__ void by(T* s, int t) { put(s, t); }", "by(s, t);"),
        (
            "__device__ void put(int* s, int t);"
            " struct By { int* s; __device__ void at(int t) { put(s, t); } };",
            "By by{s}; by.at(t);",
        ),
    ],
)
def test_a_function_of_a_header_calls_one_that_the_file_defines_behind_it(
    header: str, call: str, index: str, found: VerdictKind, tmp_path: Path
) -> None:
    (tmp_path / "by.cuh").write_text(header)
    source = tmp_path / "k.cu"
    text = f"""\
#include "by.cuh"
__device__ void last(int* s, int t) {{ s[{index}] = t; }}
__device__ void put(int* s, int t) {{ last(s, t); }}
__global__ void k() {{ __shared__ int s[64]; int t = threadIdx.x; {call} }}
void host() {{ k<<<1, 64>>>(); }}
"""
    (facts,) = check(text, path=str(source), reader=DiskReader()).facts
    assert [each.kind for each in facts.analysis.verdicts] == [found]
