"""A block that ``--threads`` states, of a kernel whose launches say how it is made of parameters: both are true."""

from __future__ import annotations

import re

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.config import Config
from smem_lsp.engine import FileReport, check

RACES = ("SMEM201", "SMEM202", "SMEM203", "SMEM205")
ROWS = """\
extern __shared__ float all[];
__device__ void row(const float *a, const float *v, float *to, int r, int t) {
  if (t < r) {
    to[t] = 0;
    for (int i = 0; i < r; ++i) to[t] += a[t + r * i] * v[i];
  }
}
__global__ void k(const float *in, float *out, int r, int turns) {
  float *a = all, *v = all + r * r, *w = v + r;
  const int t = threadIdx.x;
  a[t] = in[t];
  if (t < r) v[t] = in[t];
  __syncthreads();
  for (int turn = 0; turn < turns; ++turn) {
    row(a, v, w, r, t);
    __syncthreads();
    if (t < r) v[t] = w[t];
    __syncthreads();
    out[t] = v[t SHIFTED % r];
    __syncthreads();
  }
}
void go(const float *in, float *out, int r, int turns) {
  k<<<turns, r * r, (r * r + 2 * r) * sizeof(float)>>>(in, out, r, turns);
}
"""


def report(threads: int, text: str) -> FileReport:
    return check(text.replace(" SHIFTED", ""), config=Config(threads=threads))


@pytest.mark.parametrize(("threads", "side"), [(9, 3), (64, 8), (256, 16)])
def test_a_witness_has_the_sizes_of_the_stated_block(threads: int, side: int) -> None:
    racing = ROWS.replace("    __syncthreads();\n    if (t < r) v[t] = w[t];", "    if (t < r) v[t] = w[t];")
    found = [each for each in report(threads, racing).findings if each.code in RACES]
    assert found
    for each in found:
        numbers = [int(n) for n in re.findall(r"\[(\d+)\]", each.message)]
        assert numbers
        assert max(numbers) < side * side + 2 * side


def test_what_the_launch_says_is_taken_into_account() -> None:
    assert [each for each in report(64, ROWS).findings if each.code in RACES] == []
    (verdict,) = report(64, ROWS).facts[0].analysis.verdicts
    assert verdict.kind is not VerdictKind.RACY


def test_a_block_that_no_launch_has_is_not_proved_by_that() -> None:
    text = ROWS.replace("a[t] = in[t];", "a[0] = in[t];")
    (verdict,) = report(65, text).facts[0].analysis.verdicts
    assert verdict.kind is not VerdictKind.RACE_FREE
