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
        ("", "one two three 4;", 6, "the statement at line 6 was not understood"),
        ("one two 3;", "", 1, "the statement at line 1 was not understood"),
        ("", "out[0] = ({ 1; });", 6, "the statement expression at line 6 was not understood"),
    ],
)
def test_a_verdict_names_the_line(part: str, whole: str, line: int, what: str) -> None:
    text = TEXT.replace("PART", part).replace("WHOLE", whole)
    (kernel,) = check(text).kernels
    assert not kernel.kernel.complete
    assert what in {each.words for each in kernel.verdict.reasons}
    assert what in json.dumps(kernel_object(check(text).source, kernel))
    (moved,) = check("\n\n" + text).kernels
    assert what.replace(str(line), str(line + 2)) in {each.words for each in moved.verdict.reasons}
