"""Members whose type is not in sight, and members of base classes, known and unknown."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check
from smem_lsp.engine.report import FileReport
from tests.causes import unknown

FREE, RACY, OPEN = VerdictKind.RACE_FREE, VerdictKind.RACY, VerdictKind.UNDECIDED
HEAD = """\
#include "outside.h"
struct Known { int first; float second; };
template <typename T> struct Wide { T wide; int after; };
struct Middle : Known { Outside gap; int own; };
struct Column : Middle, Wide<double> { Extent extent; int rows; };
struct Unseen : Outside { int rows; int *data; };
struct Odd { int first; };
struct Twice : Known, Odd { Outside gap; int rows; };
"""
KERNEL = """\
{head}
__device__ int twice(int n) {{ return n + n; }}
__global__ void k(const {kind} *in, int *out, int n) {{
  __shared__ {kind} s;
  int t = threadIdx.x;
  if (t == 0) s = in[blockIdx.x];
  __syncthreads();
  {body}
}}
void go(const {kind} *in, int *out) {{ k<<<1, 128>>>(in, out, 7); }}
"""


def result(kind: str, body: str) -> FileReport:
    return check(KERNEL.format(head=HEAD, kind=kind, body=body))


def verdict(kind: str, body: str) -> VerdictKind:
    (found,) = result(kind, body).facts[0].analysis.verdicts
    return found.kind


@pytest.mark.parametrize("member", ["first", "own", "wide", "after", "rows", "lost"])
def test_members_of_bases_are_read(member: str) -> None:
    kind = "Unseen" if member == "lost" else "Column"
    assert verdict(kind, f"out[t] = s.{member};") is FREE
    assert verdict(kind, f"out[t] = s.{member}; if (t == 0) s.{member} = 1;") is not FREE


@pytest.mark.parametrize(
    ("written", "read"), [("first", "own"), ("after", "first"), ("rows", "wide"), ("own", "after")]
)
def test_members_of_different_bases_are_apart(written: str, read: str) -> None:
    assert verdict("Column", f"if (t == 0) s.{written} = 1; out[t] = s.{read};") is FREE


def test_a_member_of_a_base_is_one_place() -> None:
    assert verdict("Column", "if (t == 0) s.first = n; out[t] = s.first;") is RACY
    assert verdict("Column", "s.first = n; out[t] = n;") is FREE


def test_members_of_bases_out_of_sight_are_apart_from_known_ones_alone() -> None:
    assert verdict("Unseen", "if (t == 0) s.rows = 1; out[t] = s.lost;") is FREE
    assert verdict("Unseen", "if (t == 0) s.lost = 1; out[t] = s.other;") is not FREE


def test_a_member_that_two_bases_have_is_not_followed() -> None:
    assert verdict("Twice", "if (t == 0) s.rows = 1; out[t] = s.first;") is not FREE


def test_a_base_that_is_named_by_a_pointer_is_no_other_object() -> None:
    assert verdict("Column", "Known *base = &s; if (t == 0) base->first = 1; out[t] = s.first;") is not FREE


@pytest.mark.parametrize(
    "use",
    [
        "out[t] = 3 * s.extent;",
        "int x = s.extent; out[t] = x;",
        "int x; x = s.extent; out[t] = x;",
        "out[t] = n - s.extent;",
        "out[s.extent + t] = 1;",
        "out[t] = twice(s.extent);",
        "out[t] = min(s.extent, n);",
        "if (s.extent > n) out[t] = 1;",
        "if (s.extent && s.after) out[t] = 1;",
        "switch (s.extent) { case 1: out[t] = 1; break; default: out[t] = 2; }",
        "out[t] = static_cast<int>(s.extent);",
        "out[t] = (unsigned)s.extent + 1;",
        "int x = s.extent + s.gap; out[t] = x;",
        "int x = t ? s.extent : 0; out[t] = x;",
        "int *p = out + s.extent; p[t] = 1;",
        "n += s.extent; out[t] = n;",
        "out[t] = -s.extent;",
    ],
)
def test_what_is_used_as_a_number_is_no_array(use: str) -> None:
    found = result("Column", use)
    assert found.facts[0].analysis.verdicts[0].kind is FREE
    assert not unknown(found.facts[0].kernel)


@pytest.mark.parametrize(
    "use",
    [
        "Outside *p = s.extent; out[t] = p[0]; if (t == 0) s.extent = 0;",
        "out[t] = s.extent[t]; if (t == 0) s.extent[1] = 0;",
        "auto p = s.extent + 1; if (t == 0) s.extent = 0; out[t] = *p;",
        "const char *p = (const char *)s.extent; if (t == 0) s.extent = 0; out[t] = p[t];",
        "unsigned long long p = (unsigned long long)s.extent; outside(p);",
    ],
)
def test_what_may_be_an_array_stays_one(use: str) -> None:
    assert verdict("Column", use) is not FREE


ELEMENTS = """\
#include "outside.h"
struct Partly {{ Outside gap; int rows; float sum; Extent *data; }};
__global__ void k(const {kind} *in, {kind} *out, int n) {{
  __shared__ {kind} s[{count}];
  int t = threadIdx.x, w = threadIdx.y;
  {kind} *own = &s[w];
  {body}
}}
void go(const {kind} *in, {kind} *out, int n) {{ k<<<1, dim3(32, 4)>>>(in, out, n); }}
"""


@pytest.mark.parametrize("kind", ["Partly", "Wholly"])
@pytest.mark.parametrize(
    ("body", "free"),
    [
        ("if (t == 0) own->rows = n; __syncthreads(); if (t == 0) out[w] = *own;", True),
        ("if (t == 0) own->rows = n; if (t == 0) out[w] = *own;", True),
        ("if (t == 0) own->rows = n; if (t == 0) out[w] = s[w];", True),
        ("if (t == 0) own->rows = n; out[w] = *own;", False),
        ("if (t == 0) { s[w].rows = n; s[w].data = 0; } __syncthreads(); if (t == 0) out[w] = *own;", True),
        ("if (t == 0) { s[w].rows = n; s[0].rows = w; }", False),
        ("if (t == 0) own->rows = n; own++; if (t == 0) own->rows = 1;", False),
        ("if (t == 0) (own + 4)->rows = n; else if (t == 1) (s + w)->rows = 2;", True),
        ("if (t == 0) own->rows = n; char *raw = (char *)own; if (t == 0) raw[n] = 1;", False),
        ("if (t == 0) own->rows = n; if (t == 0) out[w] = s[w ^ 1];", False),
        ("auto row = s + w; if (t == 0) *row = in[w]; if (t == 0) out[w] = s[w];", True),
        ("auto row = s + w; if (t == 0) *row = in[w]; if (t == 0) out[w] = s[w ^ 1];", False),
        (
            "auto row = s + 4 * (w % 2); if (t == 0 && w < 2) row[w + 1] = in[w]; if (t == 0) out[w] = s[w];",
            False,
        ),
        ("if (t == 0) own->rows = n; w = 0; own = &s[w]; if (t == 1) own->rows = threadIdx.y;", False),
    ],
)
def test_elements_of_unknown_size_are_apart(kind: str, body: str, free: bool) -> None:
    (found,) = check(ELEMENTS.format(kind=kind, count=8, body=body)).facts[0].analysis.verdicts
    assert (found.kind is FREE) == free


@pytest.mark.parametrize(("other", "free"), [("sum", True), ("rows", False), ("gap", True)])
def test_members_of_elements_of_unknown_size_are_apart(other: str, free: bool) -> None:
    body = f"if (t == 0) own->rows = n; if (t < 2 && n < 4 && n >= 0) w = 3 * s[n].{other};"
    (found,) = check(ELEMENTS.format(kind="Partly", count=8, body=body)).facts[0].analysis.verdicts
    assert (found.kind is FREE) == free


def test_a_barrier_between_parts_of_elements_of_one_thread_each_is_redundant() -> None:
    body = "if (t == 0) own->rows = n; __syncthreads(); if (t == 0) out[w].rows = own->rows;"
    text = ELEMENTS.format(kind="Partly", count=8, body=body)
    assert [each.code for each in check(text).findings if each.code == "SMEM204"] == ["SMEM204"]
    shared = body.replace("if (t == 0) out[w].rows", "out[w * 32 + t].rows")
    text = ELEMENTS.format(kind="Partly", count=8, body=shared)
    assert not [each for each in check(text).findings if each.code == "SMEM204"]


COPIED = """\
#include "outside.h"
__device__ void fill(ns::count_type from, int *out) { for (int i = from; i < 8; ++i) out[i] = i; }
__device__ void next(ns::count_type &from) { from += 1; }
__device__ void view(ns::span from, int *out) { out[0] = from.size(); }
__global__ void k(int *out) {
  __shared__ ns::count_type first;
  if (threadIdx.x == 0) first = 0;
  __syncthreads();
  BODY
}
void go(int *out) { k<<<1, 128>>>(out); }
"""


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("fill(first, out);", FREE),
        ("ns::count_type own = first; fill(own, out);", FREE),
        ("if (threadIdx.x == 0) next(first); fill(first, out);", RACY),
        ("if (threadIdx.x == 0) next(first); __syncthreads(); fill(first, out);", FREE),
        ("view(first, out);", OPEN),
    ],
)
def test_an_object_of_a_class_out_of_sight_is_copied(body: str, kind: VerdictKind) -> None:
    (found,) = check(COPIED.replace("BODY", body)).facts[0].analysis.verdicts
    assert found.kind is kind


@pytest.mark.parametrize(
    ("value", "free"),
    [
        ("kind_t::DENSE", True),
        ("outer::kind_t::LEAF_2", True),
        ("near::kind_t::DENSE", True),
        ("near::COUNT", False),
        ("kind_t::dense", False),
        ("kind_t::DENSE + threadIdx.x", False),
    ],
)
def test_enumerators_out_of_sight_are_the_same_for_all_threads(value: str, free: bool) -> None:
    text = f"""
namespace near {{ __device__ int COUNT; }}
__global__ void k(int *out, int n) {{
  __shared__ int s;
  s = {value};
  __syncthreads();
  if (n == {value}) {{ __syncthreads(); }}
  out[threadIdx.x] = s;
}}
void go(int *out, int n) {{ k<<<1, 128>>>(out, n); }}
"""
    (found,) = check(text).facts[0].analysis.verdicts
    assert (found.kind is FREE) == free


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("if (t == 0) out[w].rows = own->rows;", True),
        ("if (t == 0) out[w].rows = *own->gap;", True),  # of its own member, or outside of shared memory
        ("out[w].rows = own->rows + *own->gap;", False),
        ("if (t == 0) { auto p = own->gap; p[1] = 0; }", False),
        ("if (t == 0) own->gap->far = 1;", True),
        ("if (t == 0) { int far = own->gap; out[w].rows = far; }", True),
        ("if (t == 0) { int far = t < w ? own->gap : 3; out[w].rows = far; }", True),
    ],
)
def test_a_barrier_before_what_a_member_of_an_unseen_class_leads_to(body: str, told: bool) -> None:
    text = ELEMENTS.format(kind="Partly", count=8, body=f"if (t == 0) own->rows = n; __syncthreads(); {body}")
    assert any(each.code == "SMEM204" for each in check(text).findings) == told
