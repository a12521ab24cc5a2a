"""SMEM401: where an access is told to meet its bank more often than it must, and how loudly."""

from __future__ import annotations

import pytest
from carets import expect
from rules.examples import example

from smem_lsp.config import Config
from smem_lsp.engine import check
from smem_lsp.rules.model import Severity
from smem_lsp.rules.registry import RULES
from smem_lsp.source.queries import Store

ONLY_BANKS = Config(select=("SMEM401",))


def test_a_column_in_one_bank() -> None:
    expect(
        """
        __global__ void k(const float* in, float* out, int n) {
          __shared__ float tile[32][32];
          int t = threadIdx.x;
          for (int i = 0; i < 32; i++) tile[i][t] = in[i * 32 + t];
          __syncthreads();
          float sum = tile[t][5];
//                    ^^^^^^^^^^ SMEM401 `tile[t][5]`: 32 wavefronts instead of 1 (lanes are 32 words apart, all in
          for (int i = 0; i < n; i++) sum += tile[t][i * 7 % 32];
//                                           ^^^^^^^^^^^^^^^^^^^ SMEM401 one column of padding (`tile[32][32 + 1]`)
          out[t] = sum;
        }
        """,
        config=ONLY_BANKS,
    )


def test_a_conflict_outside_a_loop_is_a_hint() -> None:
    report = expect(
        """
__global__ void k(const float* in, float* out, int n) {
  __shared__ float s[2048];
  out[threadIdx.x] = s[threadIdx.x * 32];
//                   ^^^^^^^^^^^^^^^^^^^ SMEM401
}
""",
        config=ONLY_BANKS,
    )
    (finding,) = report.findings
    assert finding.severity is Severity.HINT
    assert finding.data["in_loop"] is False


def test_a_conflict_in_a_loop_is_a_warning() -> None:
    report = expect(
        """
__global__ void k(const float* in, float* out, int n) {
  __shared__ float s[2048];
  int t = threadIdx.x;
  float acc = 0;
  for (int i = 0; i < n; i++) acc += s[t * 32];
//                                   ^^^^^^^^^ SMEM401
  for (int i = 0; i < n; i++) acc += s[t * 2];
  out[t] = acc;
}
""",
        config=ONLY_BANKS,
    )
    (finding,) = report.findings
    assert finding.severity is Severity.WARNING
    assert (finding.data["wavefronts"], finding.data["minimum"], finding.data["stride_words"]) == (32, 1, 32)


TWO_DIMENSIONS = """
LINKAGE__global__ void k(const float* in, float* out, int n) {
  __shared__ float s[2048];
  int t = threadIdx.x;
  float acc = 0;
  for (int i = 0; i < n; i++) acc += s[t * 32 + threadIdx.y];
MARK
  out[t] = acc;
}
"""
LAUNCH = "void host(float* p) { k<<<1, dim3(16, 16)>>>(p, p, 4); }\n"


def test_a_block_of_two_dimensions_that_nobody_states_is_not_judged() -> None:
    expect(TWO_DIMENSIONS.replace("LINKAGE", "").replace("MARK", ""), config=ONLY_BANKS)


@pytest.mark.parametrize("linkage", ["", "static "])
def test_the_block_of_a_launch_is_named(linkage: str) -> None:
    mark = "//                                   ^^^^^^^^^^^^^^^^^^^^^^^ SMEM401"
    text = TWO_DIMENSIONS.replace("LINKAGE", linkage).replace("MARK", mark)
    (finding,) = expect(text + LAUNCH, config=ONLY_BANKS).findings
    assert finding.verdict == "proved"
    assert finding.message.endswith(", with the 16×16 block of line 8")


def test_an_expression_in_a_helper_is_said_once() -> None:
    report = expect(
        """
__device__ float column(const float* p, int i) {
  return p[i * 32];
//       ^^^^^^^^^ SMEM401 `p[i * 32]` in `s
}
__global__ void k(const float* in, float* out, int n) {
  __shared__ float s[2048];
  int t = threadIdx.x;
  float acc = column(s, t);
  for (int i = 0; i < n; i++) acc += column(s, t);
  out[t] = acc;
}
""",
        config=ONLY_BANKS,
    )
    assert [finding.severity for finding in report.findings] == [Severity.WARNING]


def test_instances_that_differ_are_named() -> None:
    expect(
        """
template <int N> __global__ void k(const float* in, float* out) {
  __shared__ float s[32][N];
  s[threadIdx.x][5] = in[threadIdx.x];
//^^^^^^^^^^^^^^^^^ SMEM401 (`s[32][N + 1]`) removes it, for every block of 32 threads or more in x (in k<32>)
  out[threadIdx.x] = s[5][threadIdx.x];
}
template __global__ void k<32>(const float*, float*);
template __global__ void k<33>(const float*, float*);
""",
        config=ONLY_BANKS,
    )


def test_a_conflict_moves_with_its_kernel() -> None:
    text = example(RULES["SMEM401"])
    cache = Store()
    check(text, cache=cache)
    edited = f"// one\n// two\n{text}"
    assert check(edited, cache=cache).findings == check(edited).findings


def test_accesses_of_one_pattern_are_one_finding() -> None:
    lines = "".join(f"  out[{i} * 256 + t] = tile[t % 32][{i}];\n" for i in range(4))
    text = (
        "__global__ void __launch_bounds__(256) k(const float* in, float* out) {\n"
        "  __shared__ float tile[32][32];\n  int t = threadIdx.x;\n  tile[t / 32][t % 32] = in[t];\n"
        f"  __syncthreads();\n{lines}}}\n"
    )
    (found,) = [each for each in check(text).findings if each.code == "SMEM401"]
    assert found.message.startswith("`tile[t % 32][0]` and 3 more accesses, each: 32 wavefronts instead of 1")
    assert [note.message for note in found.related] == ["the same here"] * 3


def test_an_access_in_a_function_of_two_kernels_is_told_once() -> None:
    text = (
        "__device__ float column(float (*tile)[32], int t) { return tile[t % 32][t / 32]; }\n"
        "template <int N> __device__ void fill(float (*tile)[32], const float* in, int t) {\n"
        "  tile[t / 32][t % 32] = in[t];\n  __syncthreads();\n}\n"
    )
    for name in "ab":
        text += (
            f"__global__ void __launch_bounds__(256) {name}(const float* in, float* out) {{\n"
            "  __shared__ float tile[32][32];\n  int t = threadIdx.x;\n  fill<1>(tile, in, t);\n"
            "  out[t] = column(tile, t) * 2;\n}\n"
        )
    (found,) = [each for each in check(text).findings if each.code == "SMEM401"]
    assert found.message.endswith("(and in 1 other kernel)")
