"""Kernels whose maps are drawn, checked for real."""

from __future__ import annotations

from functools import cache

from sample_report import GEMM

from smem_lsp.config import Config
from smem_lsp.engine import FileReport, check
from smem_lsp.facts.attempts import LIMITS

EPILOGUE = GEMM.replace("  for (int t", "  float acc = 0;\n  for (int t", 1)

# One barrier more, in front of `c`, and all three have the same bytes; without it two of them do.
STAGES = """\
__global__ void stages(const float* in, float* out) {
  __shared__ float a[256];
  __shared__ float b[256];
  __shared__ float c[512];
  a[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  b[threadIdx.x] = a[255 - threadIdx.x];
  __syncthreads();
  float v = b[255 - threadIdx.x];
  c[threadIdx.x] = v;
  c[threadIdx.x + 256] = v;
  __syncthreads();
  out[threadIdx.x] = c[511 - threadIdx.x];
}
void run(float* a, float* b) { stages<<<2, 256>>>(a, b); }
"""

# `a` is dead between its two uses, if the block has 256 threads: its second write leaves nothing of the first.
HOLE = """\
__global__ void hole(const float* in, float* out) {
  __shared__ float a[256];
  __shared__ float b[512];
  a[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  float v = a[255 - threadIdx.x];
  __syncthreads();
  b[threadIdx.x] = v;
  b[threadIdx.x + 256] = v;
  __syncthreads();
  v = b[2 * threadIdx.x];
  __syncthreads();
  a[threadIdx.x] = v;
  __syncthreads();
  out[threadIdx.x] = a[(threadIdx.x + 100) & 255];
}
void run(float* a, float* b) { hole<<<2, 256>>>(a, b); }
"""

CALLS = """\
__device__ void fill(float* p, float v) {
  for (int i = threadIdx.x; i < 1024; i += 256) {
    p[i] = v;
  }
}
__device__ void keep(float*);
__global__ void calls(const float* in, float* out, int n) {
  __shared__ float tile[1024];
  __shared__ float flag;
  __shared__ float lost[128];
  fill(tile, in[threadIdx.x]);
  __syncthreads();
  float v = tile[1023 - threadIdx.x];
  if (threadIdx.x < 64) { __syncthreads(); }
  if (threadIdx.x == 0) flag = v;
  __syncthreads();
  v += flag;
  keep(lost);
  out[threadIdx.x] = v + lost[3];
}
"""

UNSIZED = """\
template <int N> __global__ void unsized(const float* in, float* out) {
  __shared__ float tile[N];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x ^ 1];
}
"""

JUMPS = """\
__global__ void jumps(const float* in, float* out) {
  __shared__ float a[256];
  __shared__ float b[256];
  if (in[0] > 2) goto inside;
  a[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  b[threadIdx.x] = a[255 - threadIdx.x];
  __syncthreads();
  { inside: ; }
  out[threadIdx.x] = b[threadIdx.x];
}
"""

EMPTY = "__global__ void empty(float* out) { out[threadIdx.x] = 1; }\n"


def many(count: int, floats: int) -> str:
    """A kernel with ``count`` buffers, one after the other; every third has a barrier behind its last read."""
    lines = ["__global__ void many(const float* in, float* out) {"]
    lines += [f"  __shared__ float buffer_{i}[{floats + 4 * i}];" for i in range(count)]
    lines.append("  float v = in[threadIdx.x];")
    for i in range(count):
        lines += [f"  buffer_{i}[threadIdx.x % {floats}] = v;", "  __syncthreads();"]
        lines.append(f"  v += buffer_{i}[(threadIdx.x + 1) % {floats}];")
        lines += ["  __syncthreads();"] if i % 3 == 0 else []
    return "\n".join([*lines, "  out[threadIdx.x] = v;", "}", ""])


KERNELS = {
    "epilogue": EPILOGUE,
    "stages": STAGES,
    "hole": HOLE,
    "calls": CALLS,
    "unsized": UNSIZED,
    "jumps": JUMPS,
    "empty": EMPTY,
    "one": many(1, 64),
    "forty": many(40, 1),
    "long": many(30, 256),
}


@cache
def checked(text: str, path: str = "kernels/k.cu") -> FileReport:
    """What the tests look at is what is drawn, not what a slow machine leaves out."""
    config = Config(arch=("sm_90",), arch_configured=True, registers=34)
    return check(text, path=path, config=config, limits=LIMITS.scaled(8))
