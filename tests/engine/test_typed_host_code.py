"""Each edit around launches is seen by a store that has seen the text before it. Longer sequences: tests/fuzz."""

from __future__ import annotations

import os
import re

import pytest

from smem_lsp.engine import FileReport, check
from smem_lsp.engine.cache import ANALYSES
from smem_lsp.source.queries import PROCESS, Store

FULL = os.environ.get("SMEM_FULL") == "1"
FILE = """\
#define PAD 1
#define LAUNCH(K, T) K<<<4, T>>>(out, n)
constexpr int SIZE = 64;

struct Scale {
  float by;
  __device__ float operator()(float x) const { return x * by; }
};

__device__ float weight(const float* p, int i) {
  return p[i % SIZE];
}

__device__ float unused(const float* p) {
  return p[1];
}

static __global__ void plain(float* out, int n) {
  __shared__ float s[SIZE + PAD];
  s[threadIdx.x % SIZE] = out[n];
  __syncthreads();
  out[threadIdx.x] = weight(s, n);
}

template <int N, typename T> __global__ void many(T* out, int n) {
  __shared__ T s[N];
  s[threadIdx.x % N] = out[n];
  __syncthreads();
  out[threadIdx.x] = s[N - 1 - threadIdx.x % N];
}

namespace inner {
__global__ void __launch_bounds__(256) dynamic(float* out, int n) {
  extern __shared__ float d[];
  d[threadIdx.x] = out[n];
  __syncthreads();
  out[threadIdx.x] = d[blockDim.x - 1 - threadIdx.x];
}
}

__global__ void pointed(float* out, int n) {
  __shared__ float s[128];
  if (blockDim.x != 128) return;
  s[threadIdx.x] = out[n];
  __syncthreads();
  out[threadIdx.x] = s[127 - threadIdx.x];
}

static int threads_for(int n) {
  return n > 64 ? 128 : 64;
}

static int unrelated(int n) {
  return n + 3;
}

template <typename T> void run(T* out, int n) {
  if (n > 7) many<32, T><<<2, 32>>>(out, n);
  else many<16, T><<<2, threads_for(n)>>>(out, n);
}

typedef void (*Kernel)(float*, int);

void start(Kernel kernel, float* out, int n) {
  kernel<<<1, 128>>>(out, n);
}

void go(float* out, int n) {
  plain<<<4, SIZE>>>(out, n);
  inner::dynamic<<<4, 64, 64 * sizeof(float)>>>(out, n);
  cudaFuncSetAttribute(inner::dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);
  run<float>(out, n);
  start(pointed, out, n);
  LAUNCH(plain, 64);
}
"""
TEMPLATES = re.compile(r"template.*?\n}\n\n|  run<float>.*?\n", re.DOTALL)
PLAIN = TEMPLATES.sub("", FILE)  # in which nothing is known of instances
SWAPPED = (
    ("SIZE = 64", "SIZE = 32"),
    ("PAD 1", "PAD 0"),
    ("static __global__", "__global__"),
    ("<<<4, SIZE>>>", "<<<4, n>>>"),
    ("<<<4, SIZE>>>", "<<<4, 96>>>"),
    ("threads_for(n)", "unrelated(n)"),
    ("threads_for(n)", "64"),
    ("> 64 ? 128 : 64", "> 64 ? 96 : 64"),
    ("run<float>", "run<double>"),
    ("run<float>(out, n);", "run<float>(out, n); run<int>((int*)out, n);"),
    ("start(pointed", "start(plain"),
    ("s[127 -", "s[126 -"),
    ("blockDim.x != 128", "blockDim.x != 64"),
    ("weight(s, n)", "unused(s)"),
    ("return p[i % SIZE];", "__syncthreads(); return p[threadIdx.x / 2];"),
    ("return p[1];", "__shared__ float own[4]; return own[0] + p[1];"),
    ("namespace inner {", "namespace {"),
    ("cudaFuncSetAttribute(inner::dynamic, ", "set_attribute(0, "),
    ("<<<1, 128>>>", "<<<1, 64>>>"),
    ("LAUNCH(plain, 64)", "LAUNCH(pointed, 64)"),
    ("K<<<4, T>>>", "K<<<8, T>>>"),
    ("static int unrelated", "int plain"),
    ("void start", "template <> void run(int* out, int n) {}\nvoid start"),
    ("x * by", "x + by"),
    ("__launch_bounds__(256)", "__launch_bounds__(64)"),
    ("#define PAD", "#if 0\nvoid other(float* out) { plain<<<1, 1>>>(out, 1); }\n#endif\n#define PAD"),
    ("#define PAD", '#include "missing.h"\n#define PAD'),
)


def told(report: FileReport) -> list[object]:
    findings = [
        (found.code, found.message, found.span, found.severity, found.related) for found in report.findings
    ]
    kernels = [
        (
            each.kernel.instance or each.kernel.name,
            each.kernel.span,
            each.kernel.launches,
            each.kernel.internal,
            each.kernel.may_opt_in,
            each.kernel.stated,
            each.static_bytes,
            each.exact,
            each.verdict.words,
        )
        for each in report.kernels
    ]
    return [*findings, *kernels, report.statistics]


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("pair", SWAPPED, ids=[f"{one[:20]} > {other[:20]}" for one, other in SWAPPED])
def test_each_edit_around_a_kernel_is_seen(pair: tuple[str, str]) -> None:
    for text in (FILE, PLAIN) if FULL or pair[0] not in PLAIN else (PLAIN,):
        changed = text.replace(*pair, 1)
        assert pair[0] in FILE
        store = Store()
        PROCESS.clear()
        check(text, path="typed.cu", cache=store)
        warm = told(check(changed, path="typed.cu", cache=store))
        PROCESS.clear()
        assert warm == told(check(changed, path="typed.cu", cache=Store()))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return n + 3;", "return n + 4;"),
        ("return p[1];", "return p[2];"),
        ("  run<float>", "\n  // a remark\n  run<float>"),
        ("\n\n", "\n\n\n"),
    ],
)
def test_what_no_kernel_has_to_do_with_makes_no_new_key(old: str, new: str) -> None:
    store = Store()
    check(FILE, path="typed.cu", cache=store)
    before = ANALYSES.count(store)
    changed = check(FILE.replace(old, new, 1), path="typed.cu", cache=store)
    assert len(changed.kernels) == 5
    assert ANALYSES.count(store) == before
