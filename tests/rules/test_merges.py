"""SMEM301 and SMEM302: which merges are told, how loudly, and where none is offered."""

from __future__ import annotations

import pytest
from carets import codes, expect
from harness import check_layout

from smem_lsp.config import Config
from smem_lsp.engine import check
from smem_lsp.rules.model import Severity


def test_the_last_of_the_merged_buffers_is_marked() -> None:
    report = expect(
        """
__global__ void k(const float* in, float* out) {
  __shared__ float tile[512];
  __shared__ float red[256];
//                 ^^^ SMEM301 `red` can reuse `tile`: 3,072 → 2,048 B, no barrier added (dead after the barrier at
  int tid = threadIdx.x;
  tile[tid] = in[tid];
  tile[tid + 256] = in[tid + 256];
  __syncthreads();
  float s = tile[511 - tid];
  __syncthreads();
  red[tid] = s;
  __syncthreads();
  out[tid] = red[255 - tid];
}
"""
    )
    (finding,) = (finding for finding in report.findings if finding.code == "SMEM301")
    assert finding.severity is Severity.INFO
    assert finding.buffers == ("tile", "red")
    assert [report.source.slice(note.span) for note in finding.related] == ["tile"]
    assert finding.data["bytes_before"] == 3072
    assert finding.data["bytes_after"] == 2048
    assert finding.data["bytes_saved"] == 1024
    assert finding.data["barriers_added"] == 0


def test_a_merge_that_ptxas_needs_is_a_warning() -> None:
    report = expect(
        """
__global__ void k(const float* in, float* out) {
  __shared__ float a[7000];
  __shared__ float b[7000];
//                 ^ SMEM302 with 1 added barrier 56,000 → 28,000 B, within the 49,152 B that ptxas accepts
  int tid = threadIdx.x;
  for (int i = tid; i < 7000; i += 256) a[i] = in[i];
  __syncthreads();
  float s = a[6999 - tid];
  for (int i = tid; i < 7000; i += 256) b[i] = s;
  __syncthreads();
  out[tid] = b[6999 - tid];
}
""",
        among=("SMEM302",),
    )
    assert [f.severity for f in report.findings if f.code == "SMEM302"] == [Severity.WARNING]


@pytest.mark.parametrize(
    ("registers", "gain", "severity"),
    [
        (None, "6 → ≤ 8 blocks/SM on sm_90 (shared memory alone)", Severity.INFO),
        (32, "6 → 8 blocks/SM on sm_90", Severity.WARNING),
    ],
)
def test_a_gained_block_is_a_warning_only_when_the_registers_are_known(
    registers: int | None, gain: str, severity: Severity
) -> None:
    report = expect(
        f"""
__global__ void k(const float* in, float* out) {{
  __shared__ float a[4096];
  __shared__ float b[4096];
//                 ^ SMEM302 {gain}
  int tid = threadIdx.x;
  for (int i = tid; i < 4096; i += 256) a[i] = in[i];
  __syncthreads();
  float s = a[4095 - tid];
  for (int i = tid; i < 4096; i += 256) b[i] = s;
  __syncthreads();
  out[tid] = b[4095 - tid];
}}
void go(const float* in, float* out) {{ k<<<1, 256>>>(in, out); }}
""",
        config=Config(arch=("sm_90",), registers=registers, ignore=("SMEM501",)),
    )
    assert [finding.severity for finding in report.findings] == [severity]


TWO_LAUNCHES = """\
__global__ void k(const float* in, float* out) {
  __shared__ float a[4096], b[4096];
  extern __shared__ float d[];
  const int t = threadIdx.x;
  a[t] = in[t];
  d[t] = 1;
  __syncthreads();
  float v = a[255 - t] + d[255 - t];
  __syncthreads();
  b[t] = v;
  __syncthreads();
  out[t] = b[255 - t];
}
void first(const float* in, float* out) { k<<<1, 256, 1024>>>(in, out); }
"""


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("", "2 → 5 blocks/SM on sm_86, no barrier"),
        ("9000", "2 → 3 blocks/SM on sm_86 (9,000 B dynamic), no barrier"),
        ("n", None),  # as many as are passed there: not known
    ],
)
def test_launches_with_different_dynamic_bytes(more: str, words: str | None) -> None:
    """What is told holds for the launch with the most; where one of them is not known nothing is."""
    text = TWO_LAUNCHES + (
        f"void more(const float* in, float* out, int n) {{ k<<<1, 256, {more}>>>(in, out); }}\n"
        if more
        else ""
    )
    report = check(text, config=Config(arch=("sm_86",), registers=32))
    (finding,) = (finding for finding in report.findings if finding.code == "SMEM301")
    assert finding.severity is (Severity.INFO if words is None else Severity.WARNING)
    assert (words in finding.message) if words else "blocks/SM" not in finding.message


def test_no_barrier_is_asked_for_where_it_gains_no_block() -> None:
    source = """
__global__ void k(const float* in, float* out) {
  __shared__ float a[256];
  __shared__ float b[256];
  int tid = threadIdx.x;
  a[tid] = in[tid];
  __syncthreads();
  float s = a[255 - tid];
  b[tid] = s;
  __syncthreads();
  out[tid] = b[255 - tid];
}
"""
    expect(source)
    check_layout(source, declared=2048, stack=2048, best=[(0, 2048), (1, 1024)])


HOLDING = """\
__device__ void fill(float* values);
__device__ float* kept;
__global__ void k(const float* in, float* out, int n) {
  __shared__ float a[256];
  __shared__ float b[256];
  int tid = threadIdx.x;
FIRST
  __syncthreads();
  float s = a[255 - tid];
  __syncthreads();
  b[tid] = s;
  __syncthreads();
  out[tid] = b[255 - tid] + LAST;
}
"""


def holding(first: str, last: str = "0.0f") -> str:
    return HOLDING.replace("FIRST", first).replace("LAST", last)


def test_the_silent_kernels_below_would_speak_without_their_reason() -> None:
    assert "SMEM301" in codes(check(holding("  a[tid] = in[tid];")))


@pytest.mark.parametrize(
    ("first", "last"),
    [
        pytest.param("  a[tid] = in[tid];\n  fill(a);", "0.0f", id="an unknown call gets the address"),
        pytest.param("  a[tid] = in[tid];\n  kept = a;", "0.0f", id="the address is stored"),
        pytest.param(
            "  a[tid] = in[tid];\n  size_t at = (size_t)a;", "at", id="the address becomes a number"
        ),
        pytest.param("  a[tid] = in[tid];\n  const float* p = a;", "p[tid]", id="a pointer reads it later"),
        pytest.param(
            "  if (tid < 128) a[tid] = in[tid]; else b[tid] = in[tid];", "0.0f", id="two arms at once"
        ),
        pytest.param("  s0 = a[tid];", "0.0f", id="it is read before anyone writes it"),
        pytest.param('  asm volatile("" : : "l"(a));\n  a[tid] = in[tid];', "0.0f", id="inline assembler"),
    ],
)
def test_no_merge_is_offered_where(first: str, last: str) -> None:
    report = check(holding(first.replace("s0", "float s0"), last))
    assert {"SMEM301", "SMEM302", "SMEM303"}.isdisjoint(codes(report))


def test_a_barrier_in_both_arms_of_a_divergent_branch_is_none() -> None:
    expect(
        """
__global__ void k(const float* in, float* out) {
  __shared__ float a[256];
  __shared__ float b[256];
  int tid = threadIdx.x;
  a[tid] = in[tid];
  __syncthreads();
  float s = a[255 - tid];
  if (tid < 128) {
    __syncthreads();
  } else {
    __syncthreads();
  }
  b[tid] = s;
  __syncthreads();
  out[tid] = b[255 - tid];
}
"""
    )


def test_few_bytes_are_not_worth_a_word() -> None:
    source = """
__global__ void k(const float* in, float* out) {
  __shared__ float a[31];
  __shared__ float b[31];
  int i = threadIdx.x % 31;
  a[i] = in[i];
  __syncthreads();
  float s = a[30 - i];
  __syncthreads();
//^^^^^^^^^^^^^^^ SMEM204 no shared or global access needs this barrier
  b[i] = s;
  __syncthreads();
  out[i] = b[30 - i];
}
"""
    expect(source)
    check_layout(source, declared=248, best=[(0, 124)])


def test_buffers_of_one_name_are_told_apart_by_their_lines() -> None:
    report = check(
        """\
__global__ void k(const float* in, float* out) {
  {
    __shared__ float buf[256];
    buf[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = buf[255 - threadIdx.x];
  }
  __syncthreads();
  __shared__ float buf[256];
  buf[threadIdx.x] = in[threadIdx.x + 256];
  __syncthreads();
  out[threadIdx.x + 256] = buf[255 - threadIdx.x];
}
void run(const float* a, float* b) { k<<<1, 256>>>(a, b); }
"""
    )
    (finding,) = [each for each in report.findings if each.code == "SMEM301"]
    assert str(finding.message).startswith("`buf` of line 9 can reuse `buf` of line 3: 2,048 → 1,024 B")
    assert [each.message for each in finding.related] == ["`buf` would share its bytes with another `buf`"]
