"""Elements of a type that nobody names: their size is not known, which of them is touched is."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check
from smem_lsp.rules.kernel_verdict import kernel_verdict

FREE, RACY, OPEN = VerdictKind.RACE_FREE, VerdictKind.RACY, VerdictKind.UNDECIDED

KERNEL = """\
template <typename T>
__global__ void turned(const T* in, T* out) {{
  __shared__ T tile[8][33];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  {barrier}
  out[threadIdx.y * 32 + threadIdx.x] = {read};
}}
template <typename T>
void host(const T* in, T* out) {{ turned<T><<<1, dim3(32, 8)>>>(in, out); }}
"""


def kind(barrier: str, read: str) -> VerdictKind:
    report = check(KERNEL.format(barrier=barrier, read=read))
    assert [each.element_bytes for each in report.facts[0].kernel.buffers] == [None]
    (found,) = report.facts[0].analysis.verdicts
    return found.kind


def test_elements_of_other_threads_are_told_apart_and_together() -> None:
    assert kind("", "tile[threadIdx.y][threadIdx.x]") is VerdictKind.RACE_FREE
    assert kind("", "tile[7 - threadIdx.y][threadIdx.x]") is VerdictKind.RACY
    assert kind("__syncthreads();", "tile[7 - threadIdx.y][threadIdx.x]") is VerdictKind.RACE_FREE


def test_a_view_in_other_units_is_not_compared() -> None:
    assert kind("", "T(reinterpret_cast<char*>(tile)[threadIdx.x])") is VerdictKind.UNDECIDED


VIEWS = """\
#include "outside.h"
template <typename T> struct Pair {{ T first; int second; }};
struct Holder {{ float* row; }};
template <typename T>
__global__ void k(const T* in, T* out, int n) {{
  extern __shared__ char raw[];
  int t = threadIdx.x;
  {body}
}}
"""
TYPES = ("T", "Outside", "Outside<T>", "Pair<T>", "typename T::value_type", "ns::Traits<T>::type")


def viewed(body: str) -> tuple[VerdictKind, tuple[str, ...]]:
    (facts,) = check(VIEWS.format(body=body)).facts
    found = kernel_verdict(facts)
    return found.kind, found.assumes


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize(
    ("use", "expected"),
    [
        ("s[t] = in[t]; __syncthreads(); out[t] = s[n];", FREE),
        ("s[t] = in[t]; out[t] = s[t + 1];", RACY),
        ("s[t] = {{}}; s[t + blockDim.x] = in[t]; __syncthreads(); out[t] = s[n];", FREE),
        ("E* q = s + blockDim.x; s[t] = in[t]; q[t] = in[t];", FREE),
        ("float* q = (float*)(s + n); s[t] = in[t]; q[t] = 1;", OPEN),
    ],
)
def test_elements_behind_a_pointer_are_counted(element: str, use: str, expected: VerdictKind) -> None:
    body = f"{element}* s = reinterpret_cast<{element}*>(raw); {use}".replace("E*", f"{element}*")
    assert viewed(body.replace("{{}}", "{}"))[0] is expected


@pytest.mark.parametrize("element", ["Outside", "Outside<T>", "Pair<T>"])
@pytest.mark.parametrize(
    ("use", "expected"),
    [
        ("s[t].first = in[t]; s[t].second = 1; __syncthreads(); out[t] = s[n].first;", FREE),
        ("s[t].first = in[t]; s[t + n].second = 1;", FREE),
        ("s[t].first = in[t]; out[t] = s[t + 1].first;", RACY),
        ("s[t].first = in[t]; out[t] = s[t + 1];", RACY),
        ("s[0].first[t] = in[t]; __syncthreads(); out[t] = s[n];", OPEN),
        ("Holder h; h.row = s[0].first; h.row[t] = 1; __syncthreads(); out[t] = s[n];", OPEN),
    ],
)
def test_members_of_counted_elements(element: str, use: str, expected: VerdictKind) -> None:
    assert viewed(f"auto* s = ({element}*)raw; {use}")[0] is expected


def test_what_is_stored_is_taken_to_be_a_number() -> None:
    use = "auto* s = (Outside<T>*)raw; s[t] = in[t]; __syncthreads(); out[t] = s[n].first;"
    assert viewed(use) == (FREE, ("s[n].first is a number", "no index leaves its buffer"))


@pytest.mark.parametrize(
    "body",
    [
        # two names of what may be two types
        "Outside* s = (Outside*)raw; Other* o = (Other*)raw; s[t] = in[t]; o[t] = in[t];",
        # one name of two types
        "if (t < n) { using E = Outside; E* s = (E*)raw; s[t] = in[t]; }"
        " else { using E = Other; E* s = (E*)raw; s[t] = in[t]; }",
        "void* s = (void*)raw; auto* o = (decltype(in[0])*)s; o[t] = in[t];",
    ],
)
def test_other_types_are_not_compared(body: str) -> None:
    assert viewed(body)[0] is OPEN


COPIES = """\
#include "outside.h"
template <typename T> __device__ void add(Outside<T>* to, Outside<T> v) {{ atomicAdd((T*)to, v.x); }}
template <typename T> __device__ void keep(Outside<T>* to, View<T> v) {{ atomicAdd((T*)to, v.x); }}
template <typename T>
__global__ void k(Outside<T>* out, int n) {{
  extern __shared__ char raw[];
  auto* s = (Outside<T>*)raw;
  __shared__ Outside<T> fixed[4];
  int t = threadIdx.x;
  s[t] = {{}};
  if (t < 4) fixed[t] = {{}};
  __syncthreads();
  {body}
}}
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("Outside<T> v = s[n]; out[t] = v;", FREE),
        ("const Outside<T> v = fixed[n]; out[t] = v;", FREE),
        ("T v = s[n].x; v += s[0].y; atomicAdd(&out[t].x, v);", FREE),
        ("atomicAdd(&out[t].x, s[n].x);", FREE),
        ("Outside<T> v{}; v += {s[n] * 2}; out[t] = v;", FREE),
        ("add<T>(out, s[n]);", FREE),
        ("add<T>(out, fixed[n]);", FREE),
        # what is made of it may keep its address
        ("View<T> v = s[n]; out[t] = v;", OPEN),
        ("Outside<int> v = s[n]; out[t] = v;", OPEN),
        ("keep<T>(out, s[n]);", OPEN),
        ("auto v = s[n].x; v[t] = 1;", OPEN),
        ("unseen(out, s[n]);", OPEN),
    ],
)
def test_copies_of_elements_of_classes_out_of_sight(body: str, expected: VerdictKind) -> None:
    (facts,) = check(COPIES.format(body=body)).facts
    assert kernel_verdict(facts).kind is expected
