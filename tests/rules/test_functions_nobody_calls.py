"""Device functions that no kernel in sight calls are judged by themselves: they belong to a library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from carets import codes, expect

from smem_lsp.config import Config
from smem_lsp.engine import FileReport, check
from smem_lsp.rules.model import Severity
from smem_lsp.source import FileReader

RACES = ("SMEM201", "SMEM202", "SMEM203", "SMEM204", "SMEM205", "SMEM206", "SMEM210")
REVERSE = """
template <typename T>
__device__ T reversed(T value) {
  __shared__ T part[256];
  part[threadIdx.x] = value;
  __syncthreads();
  value = part[255 - threadIdx.x];
  part[threadIdx.x] = value;
  return value;
}
"""


@dataclass(frozen=True)
class Project(FileReader):
    """Files in memory; each is included by these main files."""

    texts: dict[str, str]
    mains: tuple[str, ...] = ()

    def read(self, path: str) -> str | None:
        return self.texts.get(path)

    def includers(self, path: str) -> Sequence[str]:
        return self.mains


def told(report: FileReport) -> list[str]:
    return codes(report, among=RACES)


def test_its_own_array() -> None:
    report = expect(
        """
__device__ float total(float value) {
  __shared__ float part[256];
  int t = threadIdx.x;
  part[t] = value;
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < 32; ++i) sum += part[i];
  part[t] = sum;
//^^^^^^^ SMEM201 thread 0 writes it (line 8), with no barrier between them; put one before line 8, for every block
  __syncthreads();
  return part[t ^ 32];
}
"""
    )
    (finding,) = report.findings
    assert (finding.severity, finding.verdict, finding.remedy) == (Severity.WARNING, "likely", None)
    assert (finding.kernel, len(report.kernels), len(report.facts)) == ("total", 0, 0)


def test_a_template_that_nobody_instantiates_and_what_it_returns() -> None:
    expect(
        """
template <int N, typename T>
__device__ T next_of(T value) {
  __shared__ T part[1024];
  part[threadIdx.x] = value;
  value = part[(threadIdx.x + 1) % 1024];
//        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ SMEM201 for every block of more than 32 threads in x
  __syncthreads();
  part[threadIdx.x] = value;
  return part[threadIdx.x ^ 32];
//       ^^^^^^^^^^^^^^^^^^^^^^ SMEM201 for every block of more than 32 threads in x
}
"""
    )


def test_the_barrier_in_a_loop_proves_its_bound_the_same_for_all() -> None:
    report = expect(
        """
__device__ float summed(float value, int rounds, int shift) {
  extern __shared__ float d[];
  d[threadIdx.x] = value;
  for (int i = 0; i < rounds; ++i) {
    __syncthreads();
    value += d[(threadIdx.x + 1) % blockDim.x];
    d[threadIdx.x] = value;
//  ^^^^^^^^^^^^^^ SMEM201 `d[0]`
  }
  return value;
}
"""
    )
    assert report.findings[0].severity is Severity.WARNING


@pytest.mark.parametrize(
    "body",
    [
        # each thread may get another number
        "part[threadIdx.x + n] = v; __syncthreads(); v = part[n]; part[63 - threadIdx.x + n] = v;",
        "part[n] = v; v = part[63 - n]; __syncthreads();",
        "if (n == 0) part[0] = v; v = part[threadIdx.x]; __syncthreads();",
        "if (threadIdx.x < n) part[threadIdx.x] = v; if (n == 4) v = part[63 - threadIdx.x]; __syncthreads();",
        # nothing tells that more than one thread comes here
        "part[threadIdx.x] = v; v = part[63 - threadIdx.x];",
        # whose memory it is is not known
        "q[threadIdx.x] = v; v = q[63 - threadIdx.x]; __syncthreads(); part[threadIdx.x] = v;",
        "for (int i = 0; i < 8; ++i) q[i] = v; __syncthreads(); v = q[7]; for (int i = 0; i < 8; ++i) q[i] = v;"
        " __syncthreads();",
        # each warp may have its own
        "q[threadIdx.x % 32] = v; __syncthreads(); v = q[31 - threadIdx.x % 32]; q[threadIdx.x % 32] = v;"
        " __syncthreads();",
        # it moves
        "q += n; q[threadIdx.x] = v; __syncthreads(); v = q[63 - threadIdx.x]; q[threadIdx.x] = v; __syncthreads();",
        # in order
        "part[threadIdx.x] = v; __syncthreads(); v = part[63 - threadIdx.x]; __syncthreads();",
        # its end is not the end of the block: what the caller does behind it is not known
        "q[threadIdx.x] = v; __syncthreads(); v = q[63 - threadIdx.x];",
        "op(v); part[threadIdx.x] = v; op.sync(v); v = part[63 - threadIdx.x]; __syncthreads();",
    ],
)
def test_what_is_not_sure_is_not_told(body: str) -> None:
    text = f"""
template <typename F>
__device__ float f(float v, int n, float* q, F op) {{
  __shared__ float part[128];
  {body}
  return v;
}}
"""
    assert told(check(text, config=Config(select=("SMEM2",), severity={"SMEM210": "warning"}))) == []


def test_memory_by_pointer_that_its_barriers_prove_to_be_of_the_block() -> None:
    report = expect(
        """
__device__ float total(float* part, float value) {
  int t = threadIdx.x;
  part[t] = value;
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < 32; ++i) sum += part[i];
  part[t] = sum;
//^^^^^^^ SMEM201 thread 63 reads `part[0]` (line 6), thread 0 writes it (line 7), with no barrier between them
  __syncthreads();
  return part[t ^ 32];
}

__device__ void halved(float* s, float value) {
  const int t = threadIdx.x;
  s[t] = value;
  for (int k = blockDim.x / 2; k > 0; k >>= 1) {
    if (t < k) s[t] += s[t + k];
//                     ^^^^^^^^ SMEM201 thread 32 writes `s[32]`
    __syncthreads();
  }
}

__device__ void rounds(float* s, const float* from, float* out, int n) {
  for (int i = 0; i < n; ++i) {
    s[threadIdx.x] = from[i];
//  ^^^^^^^^^^^^^^ SMEM201 thread 0 writes it in the next iteration of the loop in line 22
    __syncthreads();
    out[threadIdx.x] = s[(threadIdx.x + 1) % blockDim.x];
  }
}
"""
    )
    told_of = {each.kernel: (each.severity, each.verdict, each.remedy) for each in report.findings}
    assert told_of.keys() == {"total", "halved", "rounds"}
    assert set(told_of.values()) == {(Severity.WARNING, "likely", None)}


def test_what_a_caller_may_wait_for_in_memory_by_pointer() -> None:
    text = """
#include <cuda_pipeline.h>
__device__ float f(float* part, const float* from) {
  part[threadIdx.x] = 0;
  __syncthreads();
  float v = part[63 - threadIdx.x];
  __syncthreads();
  __pipeline_memcpy_async(&part[threadIdx.x], from + threadIdx.x, 4);
  __pipeline_commit();
  __syncthreads();
  return v + part[63 - threadIdx.x];
}
"""
    assert told(check(text)) == []


def test_lanes_of_a_warp_alone() -> None:
    text = """
__device__ float f(float v) {
  __shared__ float part[64];
  part[threadIdx.x] = v;
  v = part[threadIdx.x ^ 1];
  __syncwarp();
  part[threadIdx.x] = v;
  return v;
}
"""
    assert told(check(text)) == ["SMEM205"]
    assert told(check(text.replace("__syncwarp();", ""))) == []


def test_a_copy_that_nobody_waits_for() -> None:
    text = """
#include <cuda_pipeline.h>
__device__ float f(const float* from) {
  __shared__ float part[64];
  __pipeline_memcpy_async(&part[threadIdx.x], from + threadIdx.x, 4);
  __pipeline_commit();
  __syncthreads();
  return part[63 - threadIdx.x];
}
"""
    report = check(text)
    assert told(report) == ["SMEM206"]
    assert report.findings[0].severity is Severity.WARNING


def test_what_a_kernel_calls_is_judged_there() -> None:
    assert told(check(REVERSE)) == ["SMEM201"]
    kernel = "__global__ void k(float* p) { p[0] = outer(p[0]); }\n"
    wrapper = "__device__ float outer(float v) { return reversed<float>(v); }\n"
    assert told(check(REVERSE + wrapper)) == ["SMEM201"]
    called = check(REVERSE + wrapper + kernel)
    assert told(called) == ["SMEM201"]
    assert {each.kernel for each in called.findings} == {"k"}
    # called by one warp only, which needs no more than what stands there
    one_warp = (
        kernel.replace("void k", "void __launch_bounds__(32) k") + "void h(float* p) { k<<<1, 32>>>(p); }\n"
    )
    assert "SMEM201" not in told(check(REVERSE + wrapper + one_warp))


def test_a_method_has_an_object_that_is_not_known() -> None:
    inside = (
        REVERSE.replace("template <typename T>", "template <typename T> struct Block {").rstrip() + " };\n"
    )
    assert told(check(inside)) == []
    assert told(check(inside.replace("__device__", "static __device__"))) == ["SMEM201"]
    outside = REVERSE.replace("T reversed", "T Block<T>::reversed")
    assert told(check("template <typename T> struct Block { T reversed(T); };\n" + outside)) == []
    assert told(check(f"namespace lib {{ namespace {{ {REVERSE} }} }}\n")) == ["SMEM201"]


def test_kernels_of_the_project_that_call_it() -> None:
    alone = Project({"reverse.cuh": REVERSE})
    assert told(check(REVERSE, path="reverse.cuh", reader=alone)) == ["SMEM201"]
    names = '#include "reverse.cuh"\n__global__ void k(float* p) { p[0] = reversed(p[0]); }\n'
    other = '#include "reverse.cuh"\n__global__ void k(float* p) { p[0] = 0; }\n'
    through = (
        '#include "reverse.cuh"\n#include "outer.cuh"\n__global__ void k(float* p) { p[0] = outer(p[0]); }\n'
    )
    outer = "inline __device__ float outer(float v) { return reversed<float>(v); }\n"
    for main, expected in ((names, []), (other, ["SMEM201"]), (through, [])):
        texts = {"reverse.cuh": REVERSE, "outer.cuh": outer, "main.cu": main}
        project = Project(texts, ("main.cu",))
        assert told(check(REVERSE, path="reverse.cuh", reader=project)) == expected


def test_suppressed_where_it_stands() -> None:
    line = "  part[threadIdx.x] = value;\n  return"
    assert line in REVERSE
    text = REVERSE.replace(line, line.replace(";\n", ";  // smem: ignore[SMEM201]\n", 1))
    assert codes(check(text)) == []


AGAIN = """
template <typename T>
__device__ T total(T value) {{
  __shared__ T part[32];
  {before}
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = value;
  __syncthreads();
  for (int i = 0; i < blockDim.x / 32; ++i) value += part[i];
  {after}
  return value;
}}
"""


def again(before: str = "", after: str = "", more: str = "") -> list[tuple[Severity, str]]:
    text = AGAIN.format(before=before, after=after) + more
    report = check(text, path="total.cuh", config=Config(select=("SMEM2",)))
    return [(each.severity, each.message) for each in report.findings if each.code in RACES]


def test_two_calls_in_a_row() -> None:
    ((severity, message),) = again()
    assert severity is Severity.INFO
    assert (
        "one thread may read the element of `part` (line 8) that another one writes in the next call of `total`"
        " (line 6) with nothing between them unless its caller has a barrier" in message
    )
    assert again(after="value = shifted(value);")[0][1].count("or `shifted()` holds one") == 1
    assert check(AGAIN.format(before="", after="")).findings == ()


@pytest.mark.parametrize(
    "places",
    [
        {"after": "__syncthreads();"},
        {"before": "__syncthreads();"},
        {"after": "if (value > 0) __syncthreads();"},
        {"after": "wait_for_all(value);"},
        # a kernel in sight calls it, and orders the two
        {
            "more": "__global__ void k(float* p) { p[0] = total(p[0]); __syncthreads(); p[1] = total(p[1]); }",
        },
    ],
)
def test_two_calls_that_something_may_order(places: dict[str, str]) -> None:
    assert again(**places) == []
