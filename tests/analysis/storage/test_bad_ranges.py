"""Ranges of dynamic shared memory that overlap, that lie outside of the launch's bytes, or whose sizes are no sizes."""

from __future__ import annotations

import pytest
from carets import expect
from harness import kernel_facts

from smem_lsp.engine import check
from smem_lsp.engine.merges import merges
from smem_lsp.fixes.model import Fix, Safety
from smem_lsp.rules.cause_words import bare

OVERLAID = """
    __global__ void k(const float* in, float* out) {
      extern __shared__ float smem[];
      float* tile = smem;
      int* count = reinterpret_cast<int*>(smem + 128);  // in the upper half of the tile
      int tid = threadIdx.x;
      tile[tid] = in[tid];
      __syncthreads();
      float v = tile[255 - tid];
      __syncthreads();  // between the purposes
      if (tid < 128) count[tid] = (int)v;
      __syncthreads();
      out[tid] = count[(tid + 1) & 127];
    }
    void go(const float* in, float* out) { k<<<1, 256, 1024>>>(in, out); }
"""


def fixes(text: str) -> list[Fix]:
    report = check(text)
    return [f for facts in report.facts for each in merges(facts) for f in report.fixes_for(each)]


def test_bytes_that_an_author_lets_serve_twice_are_no_finding() -> None:
    expect(OVERLAID)
    facts = kernel_facts(OVERLAID)
    assert facts.dynamic_partition is None  # one range: nothing is offered for its parts
    assert (
        facts.analysis.dynamic_partition is not None
        and facts.analysis.dynamic_partition.partition.bytes == 1024
    )


def test_without_a_barrier_between_the_purposes_they_race() -> None:
    text = OVERLAID.replace("      __syncthreads();  // between the purposes\n", "")
    assert [each.code for each in check(text).findings] == ["SMEM202"]


WRONG = """\
__global__ void k(const float* in, float* out) {
  extern __shared__ float smem[];
  float* a = smem;
  float* b = smem + 512;
  int tid = threadIdx.x;
  a[tid] = in[tid];
  b[tid] = in[tid];
  __syncthreads();
  out[tid] = a[255 - tid] + b[255 - tid];
}
void go(const float* in, float* out) { k<<<1, 256, 2048>>>(in, out); }
"""


def test_an_offset_behind_the_bytes_of_the_launch_is_told() -> None:
    (found,) = check(WRONG).findings
    assert found.code == "SMEM402"
    assert str(found.message) == (
        "the 256×1×1 block of line 11 writes bytes 2,048 to 3,071 of `smem`, past the 2,048 B of that launch; its "
        "ranges take 2,048 B together"
    )
    assert not any(each.edits for each in fixes(WRONG))
    assert not check(WRONG.replace("256, 2048", "256, 3072")).findings


BEYOND = """\
__global__ void k(const float* in, float* out) {
  extern __shared__ float smem[];
  float* last = smem + 256;
  if (threadIdx.x == 0) last[WHERE] = in[0];
  smem[threadIdx.x & 127] = 1;
  __syncthreads();
  out[threadIdx.x] = last[WHERE] + smem[127 - (threadIdx.x & 127)];
}
void go(const float* in, float* out, int g) { k<<<g, 128, 4096>>>(in, out); }
"""


@pytest.mark.parametrize(
    ("where", "cause"),
    [
        ("blockIdx.x", "`blockIdx.x`"),
        ("4 * blockIdx.y", "`blockIdx.y`"),
    ],
)
def test_what_no_block_can_hold_is_no_extent(where: str, cause: str) -> None:
    """The grid may have 2³¹ blocks: that bounds no index into shared memory."""
    facts = check(BEYOND.replace("WHERE", where)).facts[0]
    assert facts.dynamic_partition is None
    terms = facts.dynamic_terms
    assert terms is not None
    assert [(each.name, each.size) for each in terms.partition.ranges if each.size is None] == [
        ("last", None)
    ]
    reasons = [bare(each) for each in terms.partition.doubts]
    assert f"how far the write through `last` reaches is not known: nothing bounds {cause}" in reasons


SQUARE = """\
__global__ void k(const float* in, float* out, int n) {
  extern __shared__ float smem[];
  float* a = smem;
  float* b = smem + n * n;
  for (int i = threadIdx.x; i < n * n; i += blockDim.x) a[i] = in[i];
  __syncthreads();
  float v = 0;
  for (int i = threadIdx.x; i < n * n; i += blockDim.x) v += a[n * n - 1 - i];
  __syncthreads();
  for (int i = threadIdx.x; i < n * n; i += blockDim.x) b[i] = v;
  __syncthreads();
  for (int i = threadIdx.x; i < n * n; i += blockDim.x) out[i] = b[n * n - 1 - i];
}
void go(const float* in, float* out, int n) { k<<<1, 256, 8 * n * n>>>(in, out, n); }
"""


def test_that_no_size_overflows_and_none_is_negative_is_assumed() -> None:
    pytest.importorskip("z3")
    (fix,) = fixes(SQUARE)
    assert fix.safety is Safety.UNSAFE
    assert (
        "8·n·n → 4·n·n B of dynamic shared memory; assumes that n is not negative and no size overflows"
        in fix.title
    )


@pytest.mark.parametrize("size", ["65536 * 65536 * 8", "many * many * 8"])
def test_a_size_that_an_int_does_not_hold_is_told_and_no_number(size: str) -> None:
    passed = SQUARE.replace("8 * n * n", size).replace("{ k<<<", "{ int many = 65536; k<<<")
    facts = check(passed).facts[0]
    assert [site.dynamic_bytes for site in facts.kernel.launches] == [None]
    (found,) = (each for each in check(passed).findings if each.code.startswith("SMEM5"))
    assert found.code == "SMEM503"
    assert "overflows `int` in the dynamic shared memory that a launch asks for: it is 4,294,967,296" in str(
        found.message
    )


CARVED = """\
__device__ float* second(float* raw) { return raw + 256; }
__global__ void k1(const float* in, float* out) {
  extern __shared__ float smem[];
  float* a = smem;
  float* b = second(smem);
  float* c = second(b);
  a[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  b[threadIdx.x] = a[255 - threadIdx.x];
  __syncthreads();
  c[threadIdx.x] = b[255 - threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = c[255 - threadIdx.x];
}
__global__ void k2(const float* in, float* out) {
  extern __shared__ float smem[];
  float* b = second(smem);
  smem[threadIdx.x] = in[threadIdx.x];
  b[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = b[255 - threadIdx.x] + smem[255 - threadIdx.x];
}
void go(const float* in, float* out) { k1<<<1, 256, 3072>>>(in, out); k2<<<1, 256, 2048>>>(in, out); }
"""


def test_a_carving_helper_of_two_kernels_stays_as_it_is() -> None:
    helper, _, rest = CARVED.partition("\n")
    (fix,) = fixes(CARVED)
    assert fix.title.startswith("Move c in smem: 3,072 → 2,048 B of dynamic shared memory")
    assert "right for what second is now" in fix.title
    changed = [CARVED[each.span.start : each.span.end] for each in fix.edits]
    assert changed == ["second(b)", "3072"]
    assert all(each.span.start > len(helper) for each in fix.edits) and rest


def test_pointers_that_a_helper_sets_are_ranges_that_are_not_moved() -> None:
    text = """\
__device__ void carve(float* raw, int n, float*& a, float*& b, float*& c) { a = raw; b = raw + n; c = b + n; }
__global__ void k(const float* in, float* out, int n) {
  extern __shared__ float smem[];
  float *a, *b, *c;
  carve(smem, n, a, b, c);
  for (int i = threadIdx.x; i < n; i += blockDim.x) { a[i] = in[i]; b[i] = a[i]; c[i] = b[i]; }
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = c[n - 1 - i];
}
"""
    found = kernel_facts(text).dynamic_terms
    assert found is not None
    assert list(found.ranges) == [("a", "0", "4·n"), ("b", "4·n", "4·n"), ("c", "8·n", None)]
    assert not any(each.edits for each in fixes(text))
