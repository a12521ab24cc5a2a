"""What is not understood is told alike, whatever a store has seen of the text before."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from smem_lsp.engine import FileReport, check
from smem_lsp.source.queries import PROCESS, Store

HALF_TYPED = """\
__global__ void k(float* out, int n) {
  __shared__ float a[256];
  a[threadIdx.x] = out[
  __syncthreads();
  out[threadIdx.x] = a[255 - threadIdx.x];
  float x = n +
  for (int i = 0; i < n; ++i) n++;
  float y = 0
  if (n > 3) return n +
  __syncthreads();
}
"""
NEVER_RUN = """\
template <bool B> __device__ float part(float* p) {
  if constexpr (B) {
    one two 3;
  }
  return p[1];
}
__global__ void k(float* out) {
  __shared__ float a[256];
  a[threadIdx.x] = 1;
  __syncthreads();
  if constexpr (1 > 2) {
    four five 6;
  }
  out[threadIdx.x] = part<false>(a);
}
void go(float* o) { k<<<1, 32>>>(o); }
"""
RUN_BY_ANOTHER = NEVER_RUN.replace(
    "void go",
    "__global__ void other(float* out) { __shared__ float b[2]; b[1] = 1; out[0] = part<true>(b); }\nvoid go",
)
LAMBDA = """\
template <bool B> __device__ float part(float* p) {
  auto rest = [&](int i) { UNKNOWN_MACRO float z = 0
    return p[i]; };
  if constexpr (B) return rest(1);
  return p[1];
}
__global__ void k(float* out) {
  __shared__ float a[256];
  a[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = part<false>(a);
}
__global__ void other(float* out) { __shared__ float b[2]; b[1] = 1; out[0] = part<true>(b); }
void go(float* o) { k<<<1, 32>>>(o); }
"""
TEXTS = {
    "half typed": HALF_TYPED,
    "half typed in a function": HALF_TYPED.replace("__global__", "__device__"),
    "in arms that never run": NEVER_RUN,
    "in an arm that another kernel runs": RUN_BY_ANOTHER,
    "in a lambda that another kernel calls": LAMBDA,
}
EDITS: dict[str, Callable[[str], str]] = {
    "a line above": lambda text: "// above\n" + text,
    "a constant above": lambda text: "constexpr int SIZE = 5;\n" + text,
    "a function below": lambda text: text + "void below() {}\n",
    "lines in it": lambda text: text.replace("\n  out", "\n\n  // a remark\n  out"),
    "another launch": lambda text: text.replace("<<<1, 32>>>", "<<<1, 64>>>"),
    "another kernel first": lambda text: "__global__ void first(int* p) { p[0] = 1; }\n" + text,
    "the same kernel": lambda text: text.replace("[255 - threadIdx.x]", "[254 - threadIdx.x]"),
}


def told(report: FileReport) -> list[object]:
    findings = [(each.code, each.message, each.span) for each in report.findings]
    kernels = [(each.kernel.name, each.kernel.limits) for each in report.kernels]
    return [findings, kernels, [each.verdict.words for each in report.kernels]]


@pytest.mark.sampled(one_in=4)
@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_store_that_knows_the_statements_says_of_them_what_a_new_one_says(
    text: str, edit: Callable[[str], str]
) -> None:
    PROCESS.clear()
    store = Store()
    check(text, cache=store)
    warm = [told(check(each, cache=store)) for each in (edit(text), text)]
    for each, before in zip((edit(text), text), warm):
        PROCESS.clear()
        assert before == told(check(each))


def test_what_another_kernel_reads_is_not_held_against_one() -> None:
    PROCESS.clear()
    alone = check(NEVER_RUN).kernels[0]
    beside = check(RUN_BY_ANOTHER).kernels
    assert alone.kernel.complete
    assert [each.kernel.complete for each in beside] == [True, False]
    assert "race-free" in beside[0].verdict.words
    assert "line 3: the statement was not understood" in beside[1].verdict.words
