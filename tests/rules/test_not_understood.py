"""SMEM001: statements that the parser does not understand."""

from __future__ import annotations

import json

import pytest
from carets import expect

from smem_lsp.engine import check
from smem_lsp.output.json_ import kernel_object


def test_a_statement_that_is_not_understood_is_marked() -> None:
    expect(
        """
__global__ void k(float* out) {
  __shared__ float a[256];
  a[threadIdx.x] = (1.0f;
//^^^^^^^^^^^^^^^^^^^^^^ SMEM001 not understood
  __syncthreads();
  out[threadIdx.x] = a[255 - threadIdx.x];
}
"""
    )


def test_a_statement_that_lacks_its_semicolon_is_marked() -> None:
    expect(
        """
__global__ void k(float* out, int n) {
  __shared__ float a[256];
  float sum = 0
//^^^^^^^^^^^^^ SMEM001 has no `;`
  for (int i = 0; i < n; ++i) sum += i;
  a[threadIdx.x] = sum + out[
//^^^^^^^^^^^^^^^^^^^^^^^^^^^ SMEM001 not understood
  __syncthreads();
  out[threadIdx.x] = a[255 - threadIdx.x] + n
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ SMEM001 has no `;`
  __syncthreads();
  if (n > 3) return n +
//                  ^^^ SMEM001 not understood
  __syncthreads();
}
"""
    )


TEXT = """\
__device__ float read(float* p) { PART return p[1]; }
__global__ void k(float* out) {
  __shared__ float a[256];
  a[threadIdx.x] = 1;
  __syncthreads();
  WHOLE
  out[threadIdx.x] = read(a);
}
"""


@pytest.mark.parametrize(
    ("part", "whole", "line", "what"),
    [
        ("", "one two three 4;", 6, "the statement was not understood"),
        ("one two 3;", "", 1, "the statement was not understood"),
        ("", "out[0] = ({ 1; });", 6, "the statement expression was not understood"),
    ],
)
def test_a_verdict_names_the_line(part: str, whole: str, line: int, what: str) -> None:
    text = TEXT.replace("PART", part).replace("WHOLE", whole)
    (kernel,) = check(text).kernels
    assert not kernel.kernel.complete
    assert (line, what) in {(each.line, each.words) for each in kernel.verdict.reasons}
    assert what in json.dumps(kernel_object(check(text).source, kernel))
    (moved,) = check("\n\n" + text).kernels
    assert (line + 2, what) in {(each.line, each.words) for each in moved.verdict.reasons}


CLASS = """
typedef float real;
struct Number {
  float x, y;
  __device__ float real() const { return x; }
  __device__ void real(float v) { x = v; }
  __device__ void add(const Number& z) {
    real(real() + z.real());
    real(real() * 2, z);
    x = max(real() - 1, z.real());
    y = float(int() + 3) + sum(unsigned() + 1u, int());
  }
};
__global__ void k(Number* p, float* out) {
  __shared__ float a[256];
  a[threadIdx.x] = p->x;
  p->add(p[1]);
  __syncthreads();
  out[threadIdx.x] = a[255 - threadIdx.x];
}
"""


def test_what_is_made_of_nothing_is_an_operand() -> None:
    """``T()`` among arguments is a type only if nothing is added to it."""
    report = expect(CLASS, among=["SMEM001"])
    assert report.kernels[0].kernel.complete


REPEATED = """
struct Pair { float x, y; };
__device__ void first(Pair& p) { p.x = one two 3; }
__device__ void second(Pair& p) { p.y = four five 6; p.x = seven eight 9; }
"""
KERNEL_OF_PAIRS = """
__global__ void k(Pair* p, float* out) {
  __shared__ float a[256];
  a[threadIdx.x] = 1;
  first(p[0]);
  second(p[1]);
  __syncthreads();
  out[threadIdx.x] = a[255 - threadIdx.x];
}
"""


def test_statements_of_one_kind_are_told_once_with_their_number() -> None:
    text = REPEATED.replace(
        "{ p.x = one two 3; }",
        "{\n  p.x = one two 3;\n//^^^^^^^^^^^^^^^ SMEM001 not understood, and 2 more of this kind: nothing\n}",
    ).replace("SMEM001 not", "SMEM001 this statement is not")
    report = expect(text + KERNEL_OF_PAIRS, among=["SMEM001"])
    (finding,) = report.findings
    words = [report.source.slice(note.span) for note in finding.related]
    assert words == ["p.y = four five 6", "p.x = seven eight 9"]
    assert finding.message.endswith("the buffers they name")
    assert report.statistics.unparsed_statements == 3


def test_nothing_is_told_where_no_kernel_has_to_do_with_it() -> None:
    report = expect(REPEATED)
    assert report.statistics.unparsed_statements == 3


@pytest.mark.parametrize("words", ["__shared__ float s[4];", "__syncthreads();"])
def test_a_function_that_shares_or_waits_is_told_without_a_kernel(words: str) -> None:
    report = check(REPEATED.replace("{ p.x = one", f"{{ {words} p.x = one"))
    assert [each.code for each in report.findings if each.code == "SMEM001"] == ["SMEM001"]


def test_statements_of_a_kernel_are_of_one_kind_where_they_have_one_form() -> None:
    expect(
        """
__global__ void k(float* out, int n) {
  __shared__ float a[256];
  a[threadIdx.x] = n;
  out[0] = one two 3;
//^^^^^^^^^^^^^^^^^^ SMEM001 this statement is not understood, and 1 more of this kind
  if (n) out[1] = four five 6;
  out[2] = seven + eight nine;
//^^^^^^^^^^^^^^^^^^^^^^^^^^^ SMEM001 this statement is not understood: nothing
  __syncthreads();
  out[threadIdx.x] = a[255 - threadIdx.x];
}
""",
        among=["SMEM001"],
    )


def test_each_comment_silences_its_own() -> None:
    text = REPEATED.replace("p.x = one", "\n  // smem: ignore-next-line[SMEM001]\n  p.x = one")
    report = check(text + KERNEL_OF_PAIRS)
    (finding,) = report.findings
    assert "and 1 more of this kind" in finding.message
