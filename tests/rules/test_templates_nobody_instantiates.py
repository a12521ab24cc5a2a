"""Kernels of a header that only templates launch: what of their arguments is known, and copies of an unknown type."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check
from smem_lsp.rules.kernel_verdict import kernel_verdict
from smem_lsp.rules.model import Severity
from smem_lsp.unit.instances import InstanceArguments
from tests.causes import unknown

HEADER = """\
enum Mode {{ ADD, MUL }};
template <typename V, Mode M> struct Combine {{
  __device__ V operator()(V a, V b) {{ return M == ADD ? a + b : a * b; }}
}};
template <typename T, Mode M, unsigned ROWS> __global__ void carry(const T* in, T* out, int turns) {{
  __shared__ T last[32];
  Combine<T, M> combine;
  T value = in[threadIdx.x];
  const bool ends = threadIdx.y == ROWS - 1;
  for (int k = 0; k < turns; k++) {{
    if (ends) last[threadIdx.x] = value;
    __syncthreads();
    value = combine(value, last[threadIdx.x]);
    out[(k * ROWS + threadIdx.y) * 32 + threadIdx.x] = value;
{end}  }}
}}
template <typename T, Mode M> void run(const T* in, T* out, int turns, unsigned rows) {{
  dim3 threads(32, rows);
  switch (rows) {{
    case 8: carry<T, M, 8><<<1, threads>>>(in, out, turns); break;
    case 4: carry<T, M, 4><<<1, threads>>>(in, out, turns); break;
  }}
}}
{more}
"""


def told(end: str, more: str = "") -> list[tuple[str, Severity, str]]:
    report = check(HEADER.format(end=end, more=more), path="carry.cuh")
    return [(each.code, each.severity, each.message) for each in report.findings if each.code == "SMEM201"]


def test_the_known_argument_tells_which_row_stores() -> None:
    ((_, severity, message),) = told("")
    assert severity is Severity.ERROR
    assert "thread 0 reads `last[0]` (line 13), thread 224 writes it in the next iteration" in message
    assert not told("    __syncthreads();\n")


def test_each_launch_is_one_instance() -> None:
    report = check(HEADER.format(end="", more=""), path="carry.cuh")
    assert [(each.kernel.instance, *(s.block for s in each.kernel.launches)) for each in report.kernels] == [
        ("carry<?, ?, 8>", (32, 8, 1)),
        ("carry<?, ?, 4>", (32, 4, 1)),
    ]


@pytest.mark.parametrize(
    ("more", "instances"),
    [
        # instances that are made are all that is looked at
        (
            "template void run<float, MUL>(const float*, float*, int, unsigned);",
            ["carry<float, 1, 8>", "carry<float, 1, 4>"],
        ),
        # of one launch nothing is known, so nothing is taken to be known
        (
            "template <typename T, Mode M, unsigned N> void other(const T* in, T* out, int turns) {\n"
            "  carry<T, M, N><<<1, dim3(32, N)>>>(in, out, turns);\n}",
            [None],
        ),
    ],
)
def test_what_is_an_instance(more: str, instances: list[str | None]) -> None:
    report = check(HEADER.format(end="", more=more), path="carry.cuh")
    assert [each.kernel.instance for each in report.kernels] == instances


def test_a_parameter_of_a_class_template_is_copied() -> None:
    """It is called what the class calls it, whatever the kernel calls it: the element is read, not changed."""
    report = check(HEADER.format(end="    __syncthreads();\n", more=""), path="carry.cuh")
    assert [unknown(each.kernel) for each in report.kernels] == [(), ()]


def test_an_instance_that_is_made_is_no_other_than_one_that_is_not() -> None:
    assert InstanceArguments((), "8") != InstanceArguments((), "8", made=False)


OPEN = """\
template <typename T> struct Memory {{
  __device__ operator T*() {{ extern __shared__ int memory[]; return reinterpret_cast<T*>(memory); }}
}};
template <typename T> __global__ void k(const T* in, T* out, int n) {{
  {declared}
  for (int i = 0; i < n; i++) {{
    {stored} = in[i * blockDim.x + threadIdx.x];
    __syncthreads();
    out[i * blockDim.x + threadIdx.x] = {read};
{end}  }}
}}
"""
ROW, LAST = "s[threadIdx.x]", "s[blockDim.x - 1 - threadIdx.x]"


@pytest.mark.parametrize(
    ("declared", "stored", "read"),
    [
        ("extern __shared__ T s[];", ROW, LAST),
        ("__shared__ T all[1024]; T* s = all;", ROW, LAST),
        (
            "extern __shared__ T s[]; T* t = s + blockDim.x;",
            "t[threadIdx.x]",
            "t[blockDim.x - 1 - threadIdx.x]",
        ),
        ("extern __shared__ T s[]; T* t = &s[4];", "t[threadIdx.x]", "s[4 + blockDim.x - 1 - threadIdx.x]"),
        ("T* s = Memory<T>();", ROW, LAST),
    ],
)
def test_elements_of_any_size_are_counted(declared: str, stored: str, read: str) -> None:
    racy, free = (
        check(OPEN.format(declared=declared, stored=stored, read=read, end=end))
        for end in ("", "    __syncthreads();\n")
    )
    (finding,) = (each for each in racy.findings if each.code.startswith("SMEM2"))
    assert finding.code in ("SMEM201", "SMEM202") and finding.severity is Severity.WARNING
    assert "in the next iteration of the loop in line 6 (line 7)" in finding.message
    assert not any(each.code.startswith("SMEM2") for each in free.findings)
    (facts,) = free.facts
    assert kernel_verdict(facts).kind is VerdictKind.RACE_FREE


@pytest.mark.parametrize(
    ("declared", "other"),
    [
        ("extern __shared__ char bytes[]; T* s = (T*)bytes;", "bytes[threadIdx.x + 1]"),
        ("extern __shared__ T all[]; T* s = (T*)all;", "all[threadIdx.x + 1]"),
        (
            "extern __shared__ char bytes[]; extern __shared__ int more[]; T* s = (T*)bytes;",
            "more[threadIdx.x + 1]",
        ),
    ],
)
def test_bytes_are_not_compared_with_elements_of_any_size(declared: str, other: str) -> None:
    (facts,) = check(OPEN.format(declared=declared, stored=f"{other} = n; {ROW}", read=ROW, end="")).facts
    assert kernel_verdict(facts).kind is VerdictKind.UNDECIDED


COUNTED = """\
template <typename T> __global__ void k(const T* in, int* out) {{
  extern __shared__ int s[];
  T* v = (T*)s;
  if (threadIdx.x == 0) s[0] = 1;
  __syncthreads();
  {stored}
  int at = atomicAdd(&s[0], 1);
  s[at] = out[threadIdx.x];
}}
"""


@pytest.mark.parametrize(
    ("stored", "kind"),
    [
        ("", VerdictKind.RACE_FREE),
        ("v[threadIdx.x] = in[threadIdx.x]; __syncthreads();", VerdictKind.UNDECIDED),
    ],
)
def test_elements_of_any_size_may_be_stored_over_a_counter(stored: str, kind: VerdictKind) -> None:
    (facts,) = check(COUNTED.format(stored=stored), path="k.cuh").facts
    assert kernel_verdict(facts).kind is kind
