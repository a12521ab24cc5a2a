"""Races behind loops that walk, bits of what is loaded, methods of large classes, and flags that a race may change."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check
from smem_lsp.rules.model import Severity

RING = """\
struct ring { int pos; unsigned char bytes[1024]; };
__device__ int length(ring* r, int pos) {
  int len = 1;
  while (len < 10 && r->bytes[(pos + len - 1) % 1024] > 127) len++;
  return len;
}
__global__ void k(const unsigned char* in, long* out) {
  __shared__ ring r;
  __shared__ long values[512];
  int t = threadIdx.x;
  for (int i = t; i < 1024; i += 256) r.bytes[i] = in[i];
  values[2 * t] = in[t];
  __syncthreads();
  int pos = values[2 * t];
BETWEEN  long v = length(&r, pos);
  values[t] = v;
  __syncthreads();
  out[t] = values[t];
}
void host(const unsigned char* in, long* out) { k<<<1, 256>>>(in, out); }
"""
HEAP = """\
__global__ void k(const float* in, float* out, int n) {
  __shared__ float heaps[4096];
  __shared__ float tile[256];
  int t = threadIdx.x;
  float* mine = heaps + t * 16;
  for (int i = 0; i < 16; i++) mine[i] = in[i];
  for (int b = 0; b < n; b += 256) {
    tile[t] = in[b + t];
    __syncthreads();
    for (int j = 0; j < 256; j++) {
      float v = tile[j];
      int at = 0;
      while (true) {
        int left = 2 * at + 1, right = left + 1, next = at;
        if (left < 16 && mine[left] > mine[next]) next = left;
        if (right < 16 && mine[right] > mine[next]) next = right;
        if (next == at) break;
        mine[at] = mine[next];
        at = next;
      }
      mine[at] = v;
    }
BETWEEN  }
  out[t] = mine[0];
}
void host(const float* in, float* out) { k<<<1, 256>>>(in, out, 300); }
"""
BITS = """\
struct column { const unsigned* valid; int rows; int sums[32]; };
__global__ void k(const column* in, int* out, int n) {
  __shared__ column col;
  column* const c = &col;
  int t = threadIdx.x;
  if (t == 0) { c->valid = in->valid; c->rows = in->rows; }
  __syncthreads();
  for (int i = 0; i < n; i += 512) {
    const unsigned* valid = c->valid;
    int row = i + t;
    int ok = (row < n && row < c->rows) ? valid ? (valid[row >> 5] >> (row & 31)) & 1 : 1 : 0;
    if (!(t & 31)) c->sums[t >> 5] = ok;
    __syncthreads();
    if (ok) { if (t >= 32) out[row] = c->sums[(t - 32) >> 5]; }
BETWEEN  }
}
void host(const column* in, int* out, int n) { k<<<1, 512>>>(in, out, n); }
"""
LARGE = """\
struct state {
  int a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1, c2, c3, c4;
  int error;
  __device__ void fail(int code) { atomicOr(&error, code); }
};
__global__ void k(const int* in, int* out, int n) {
  __shared__ state st;
  __shared__ int sums[64];
  state* s = &st;
  int t = threadIdx.x;
  if (t == 0) s->error = 0;
  sums[t] = in[t];
  __syncthreads();
  for (int i = 0; i < n; i++) {
    int next = sums[(t + 1) % 64];
    if (in[i] < 0) s->fail(2);
BETWEEN    sums[t] = next;
    __syncthreads();
  }
  out[t] = sums[t] + s->error;
}
void host(const int* in, int* out) { k<<<1, 64>>>(in, out, 300); }
"""
FLAG = """\
struct stream { const unsigned char* cur; const unsigned char* end; int error; int plain; };
__global__ void k(const unsigned char* in, unsigned char* out, int n) {
  __shared__ stream state;
  stream* const s = &state;
  int t = threadIdx.x;
  if (t == 0) { s->error = 0; s->cur = in; s->end = in + n; }
  __syncthreads();
  for (int block = 0; block < n; block++) {
    if (t == 0) s->plain = in[block];
    __syncthreads();
    if (!s->error && s->plain) {
      const unsigned char* from = s->cur;
BETWEEN      if (t == 0) {
        if (from >= s->end) s->error = 1;
        else s->cur = from + 256;
      }
      __syncthreads();
      if (!s->error) out[block * 256 + t] = from[t];
    }
    __syncthreads();
  }
}
void host(const unsigned char* in, unsigned char* out) { k<<<1, 256>>>(in, out, 300); }
"""

TILES = """\
#include <limits>
template <typename T>
__global__ void k(const T* points, const T* of, int* out, int n, int width) {
  extern __shared__ T tile[];
  T best = std::numeric_limits<T>::max();
  for (int start = 0; start < n; start += blockDim.x) {
    int at = start + threadIdx.x;
    if (at < n) for (int i = 0; i < width; ++i) tile[threadIdx.x * width + i] = points[at * width + i];
    __syncthreads();
    for (int row = 0; row < min(n - start, (int)blockDim.x); ++row) {
      T sum = 0;
      bool stop = false;
      int i = 0;
      for (; i < width - 1; i += 2) {
        sum += tile[row * width + i] * of[i] + tile[row * width + i + 1] * of[i + 1];
        if (sum > best) { stop = true; break; }
      }
      for (; i < width; ++i) {
        sum += tile[row * width + i] * of[i];
        if (sum > best) { stop = true; break; }
      }
      if (stop) continue;
      best = sum;
    }
BETWEEN  }
  out[threadIdx.x] = best;
}
void host(const float* p, int* out) { k<float><<<1, 256, 256 * 3 * 4>>>(p, p, out, 1000, 3); }
"""


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        pytest.param(TILES, Severity.WARNING, id="loops that break off a sum"),
        pytest.param(RING, Severity.ERROR, id="a loop that reads a ring buffer"),
        pytest.param(HEAP, Severity.ERROR, id="a loop that goes down a heap"),
        pytest.param(BITS, Severity.WARNING, id="a bit of what is loaded"),
        pytest.param(LARGE, Severity.ERROR, id="a method of a class with many members"),
        pytest.param(FLAG, Severity.WARNING, id="a flag that is stored where it is read"),
    ],
)
def test_the_race_is_told(text: str, severity: Severity) -> None:
    found = [each for each in check(text.replace("BETWEEN", "")).findings if each.code == "SMEM201"]
    assert [each.severity for each in found] == [severity]
    mended = check(text.replace("BETWEEN", "__syncthreads();\n")).findings
    assert not [each for each in mended if each.code in ("SMEM201", "SMEM205", "SMEM210")]


@pytest.mark.parametrize(
    "wait",
    [
        "int turns = 0; while (atomicAdd(&flag[0], 0) == 0 && turns % 8 < 100) turns += 8;",
        "for (int i = 0; i < 2; ++i) { int sum = 0; while (sum < 1) sum += flags[i * n]; }",
        "for (int i = 0; i < n; ++i) { int sum = 0; while (sum < 1) sum += flags[i * n]; }",  # n is 2
        "for (int i = 0; i < 2; ++i) { int sum = 0; for (int j = 0; sum < 1; ++j) sum += flags[0 * j + i]; }",
        "for (int i = 0; i < 2; ++i) { int seen = flags[i]; while (!seen) seen = flags[i]; }",
    ],
)
def test_a_flag_that_is_read_again_and_again_is_waited_for(wait: str) -> None:
    """Nothing is said of accesses on two sides of a loop that waits, however it counts its turns."""
    text = """\
__global__ void k(int* out, int n) {
  __shared__ int flag[8];
  __shared__ int value;
  volatile int* flags = flag;
  if (threadIdx.x == 0) { flag[0] = 0; }
  __syncthreads();
  if (threadIdx.x == 32) { value = 7; atomicExch(&flag[0], 1); }
  if (threadIdx.x == 0) {
    WAIT
    out[0] = value;
  }
}
void host(int* out) { k<<<1, 64>>>(out, 2); }
"""
    told = [each for each in check(text.replace("WAIT", wait)).findings if "value" in each.buffers]
    assert not [each for each in told if each.code in ("SMEM201", "SMEM205")]
