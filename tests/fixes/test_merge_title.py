"""The title of a merge: bytes, barriers and resident blocks before and after."""

from __future__ import annotations

from fixes.two_buffers import TWO_BUFFERS
from harness import (
    only_fix,
)

from smem_lsp.config import Config
from smem_lsp.engine import check


def test_the_title_says_what_is_gained() -> None:
    launched = TWO_BUFFERS.replace("512", "8192").replace("red[256]", "red[8192]").replace("511", "8191")
    launched += "void go(const float* in, float* out) { k<<<1, 256>>>(in, out); }\n"
    fix = only_fix(check(launched, config=Config(arch=("sm_90",), registers=32)), "SMEM301")
    gained = "3 → 6 blocks/SM (sm_90, 256 threads, 32 registers)"
    assert fix.title == f"Merge tile, red: 65,536 → 32,768 B, no barrier added, {gained}; unconfirmed"


def test_buffers_of_one_name_are_told_apart_by_their_lines() -> None:
    text = """\
__global__ void k(const float* in, float* out) {
  int tid = threadIdx.x;
  float v = in[tid];
  {
    __shared__ float buf[512];
    buf[tid] = v;
    buf[tid + 256] = -v;
    __syncthreads();
    v = buf[511 - tid] + buf[255 - tid];
    __syncthreads();
  }
  {
    __shared__ float buf[256];
    buf[tid] = v;
    __syncthreads();
    v += buf[255 - tid];
  }
  out[tid] = v;
}
void go(const float* in, float* out) { k<<<1, 256>>>(in, out); }
"""
    assert "Merge buf (line 5), buf (line 13): 3,072 → 2,048 B, " in only_fix(check(text), "SMEM301").title
    moved = check(f"// a comment\n{text}")
    assert "Merge buf (line 6), buf (line 14): 3,072 → 2,048 B, " in only_fix(moved, "SMEM301").title
    moved = check(text.replace("  float v = in[tid];\n", "  float v = in[tid];\n\n"))
    assert "Merge buf (line 6), buf (line 14): 3,072 → 2,048 B, " in only_fix(moved, "SMEM301").title
