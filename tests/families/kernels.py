"""Kernels of the kinds that production has, small enough to be run: an attention forward pass, a pipelined GEMM with an
epilogue through shared memory, a fused MLP, a Stream-K GEMM with a fix-up. Each in a static and in a dynamic form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_HEAD = """\
#include <cstdio>
#include <cstdlib>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
"""
_MAIN = """
int main() {{
  const int inputs = 65536, outputs = 8192;
  float* host = (float*)malloc(sizeof(float) * inputs);
  for (int i = 0; i < inputs; ++i) host[i] = (float)((i * 2654435761u >> 16) % 64) * 0.0625f - 2.0f;
  float *in, *out;
  cudaMalloc((void**)&in, sizeof(float) * inputs);
  cudaMalloc((void**)&out, sizeof(float) * outputs);
  cudaMemcpy(in, host, sizeof(float) * inputs, cudaMemcpyHostToDevice);
  cudaMemset(out, 0, sizeof(float) * outputs);
  {launch}
  cudaDeviceSynchronize();
  cudaMemcpy(host, out, sizeof(float) * outputs, cudaMemcpyDeviceToHost);
  unsigned long long hash = 1469598103934665603ull;
  for (size_t i = 0; i < sizeof(float) * outputs; ++i)
    hash = (hash ^ ((unsigned char*)host)[i]) * 1099511628211ull;
  printf("%016llx\\n", hash);
  return 0;
}}
"""


@dataclass(frozen=True)
class Family:
    """``arrays``: (name, elements as C++ writes them, elements) of its float arrays; ``body`` holds ``{storage}``;
    ``arguments``: of the launch; ``tail``: what the host does behind it."""

    name: str
    kernel: str
    arrays: Sequence[tuple[str, str, int]]
    body: str
    arguments: str
    grid: int
    tail: str = ""

    @property
    def bytes(self) -> int:
        return 4 * sum(count for _, _, count in self.arrays)

    @property
    def static(self) -> str:
        lines = [f"  __shared__ __align__(16) float {name}[{size}];" for name, size, _ in self.arrays]
        return self._text("\n".join(lines), "")

    @property
    def dynamic(self) -> str:
        lines, before = ["  extern __shared__ __align__(16) float smem[];"], ("smem", "")
        for name, size, _ in self.arrays:
            lines.append(f"  float* {name} = {' + '.join(each for each in before if each)};")
            before = name, size
        return self._text("\n".join(lines), f", {self.bytes}")

    def _text(self, storage: str, third: str) -> str:
        launch = f"{self.kernel}<<<{self.grid}, T{third}>>>({self.arguments});{self.tail}"
        return _HEAD + self.body.replace("{storage}", storage) + _MAIN.format(launch=launch)

    def without_barrier(self, text: str) -> str:
        """The text without the barrier that is marked as needed."""
        assert text.count("// needed") == 1
        return "".join(line for line in text.splitlines(keepends=True) if "// needed" not in line)


ATTENTION = Family(
    "attention forward: online softmax, K and V tiles, P tile, output through shared memory",
    "attention",
    (
        *(("Qs", "M * D", 512), ("Ks", "N * D", 512), ("Vs", "N * D", 512), ("Ps", "M * N", 256)),
        ("Os", "M * (D + 1)", 528),
    ),
    """\
constexpr int D = 32, M = 16, N = 16, T = 128;
static __global__ void attention(const float* in, float* out, int tiles) {
{storage}
  const int tid = threadIdx.x, row = tid / 8, part = tid % 8;
  for (int i = tid; i < M * D; i += T) Qs[i] = in[blockIdx.x * M * D + i];
  float best = -1e30f, total = 0.0f, acc[4] = {};
  for (int tile = 0; tile < tiles; ++tile) {
    for (int i = tid; i < N * D; i += T) {
      Ks[i] = in[8192 + tile * N * D + i];
      Vs[i] = in[16384 + tile * N * D + i];
    }
    __syncthreads();  // needed
    for (int c = part; c < N; c += 8) {
      float dot = 0.0f;
      for (int d = 0; d < D; ++d) dot += Qs[row * D + d] * Ks[c * D + d];
      Ps[row * N + c] = dot * 0.125f;
    }
    __syncthreads();
    float most = best;
    for (int c = 0; c < N; ++c) most = fmaxf(most, Ps[row * N + c]);
    const float scale = expf(best - most);
    best = most;
    total *= scale;
    for (int j = 0; j < 4; ++j) acc[j] *= scale;
    for (int c = 0; c < N; ++c) {
      const float p = expf(Ps[row * N + c] - most);
      total += p;
      for (int j = 0; j < 4; ++j) acc[j] += p * Vs[c * D + part * 4 + j];
    }
    __syncthreads();
  }
  for (int j = 0; j < 4; ++j) Os[row * (D + 1) + part * 4 + j] = acc[j] / total;
  __syncthreads();
  for (int i = tid; i < M * D; i += T) out[blockIdx.x * M * D + i] = Os[i / D * (D + 1) + i % D];
}
""",
    "in, out, 3",
    2,
)

PIPELINED = Family(
    "GEMM with two stages of asynchronous copies and an epilogue through shared memory",
    "gemm",
    (("As", "S * BM * BK", 1024), ("Bs", "S * BK * BN", 1024), ("Cs", "BM * (BN + 1)", 1056)),
    """\
constexpr int BM = 32, BN = 32, BK = 16, S = 2, T = 128;
static __global__ void gemm(const float* in, float* out, int steps) {
{storage}
  const int tid = threadIdx.x, tx = tid % 32, ty = tid / 32;
  float acc[8] = {};
  __pipeline_memcpy_async(&As[tid * 4], &in[tid * 4], 16);
  __pipeline_memcpy_async(&Bs[tid * 4], &in[8192 + tid * 4], 16);
  __pipeline_commit();
  for (int step = 0; step < steps; ++step) {
    const int now = step % S, next = (step + 1) % S;
    if (step + 1 < steps) {
      __pipeline_memcpy_async(&As[next * BM * BK + tid * 4], &in[(step + 1) * BM * BK + tid * 4], 16);
      __pipeline_memcpy_async(&Bs[next * BK * BN + tid * 4], &in[8192 + (step + 1) * BK * BN + tid * 4], 16);
    }
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    for (int k = 0; k < BK; ++k)
      for (int r = 0; r < 8; ++r)
        acc[r] += As[now * BM * BK + (ty * 8 + r) * BK + k] * Bs[now * BK * BN + k * BN + tx];
    __syncthreads();
  }
  __pipeline_wait_prior(0);
  for (int r = 0; r < 8; ++r) Cs[(ty * 8 + r) * (BN + 1) + tx] = acc[r];
  __syncthreads();  // needed
  for (int i = tid; i < BM * BN; i += T) out[blockIdx.x * BM * BN + i] = Cs[i % BM * (BN + 1) + i / BM];
}
""",
    "in, out, 4",
    2,
)

MLP = Family(
    "fused MLP: two GEMMs, the hidden row in shared memory",
    "mlp",
    (
        *(("X", "M * K", 512), ("W", "K * H", 2048), ("Hs", "M * H", 1024), ("V", "H * O", 2048)),
        ("Y", "M * O", 512),
    ),
    """\
constexpr int M = 16, K = 32, H = 64, O = 32, T = 128;
static __global__ void mlp(const float* in, float* out) {
{storage}
  const int tid = threadIdx.x;
  for (int i = tid; i < M * K; i += T) X[i] = in[blockIdx.x * M * K + i];
  for (int i = tid; i < K * H; i += T) W[i] = in[4096 + i];
  __syncthreads();
  for (int i = tid; i < M * H; i += T) {
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += X[i / H * K + k] * W[k * H + i % H];
    Hs[i] = fmaxf(sum, 0.0f);
  }
  for (int i = tid; i < H * O; i += T) V[i] = in[8192 + i];
  __syncthreads();  // needed
  for (int i = tid; i < M * O; i += T) {
    float sum = 0.0f;
    for (int h = 0; h < H; ++h) sum += Hs[i / O * H + h] * V[h * O + i % O];
    Y[i] = sum;
  }
  __syncthreads();
  for (int i = tid; i < M * O; i += T) out[blockIdx.x * M * O + i] = Y[i % M * O + i / M];
}
""",
    "in, out",
    2,
)

STREAM_K = Family(
    "Stream-K GEMM: each block has its share of all steps, partial tiles go to a workspace and are added up there",
    "stream_k",
    (("As", "BM * BK", 512), ("Bs", "BK * BN", 512), ("Cs", "BM * (BN + 1)", 1056)),
    """\
constexpr int BM = 32, BN = 32, BK = 16, STEPS = 4, T = 128;
static __global__ void stream_k(const float* in, float* workspace, int share, int all) {
{storage}
  const int tid = threadIdx.x, tx = tid % 32, ty = tid / 32;
  int at = blockIdx.x * share;
  const int end = min(at + share, all);
  while (at < end) {
    const int tile = at / STEPS, last = min(end, (tile + 1) * STEPS), first = at;
    float acc[8] = {};
    for (; at < last; ++at) {
      for (int i = tid; i < BM * BK; i += T) As[i] = in[at * BM * BK + i];
      for (int i = tid; i < BK * BN; i += T) Bs[i] = in[16384 + at * BK * BN + i];
      __syncthreads();  // needed
      for (int k = 0; k < BK; ++k)
        for (int r = 0; r < 8; ++r) acc[r] += As[(ty * 8 + r) * BK + k] * Bs[k * BN + tx];
      __syncthreads();
    }
    for (int r = 0; r < 8; ++r) Cs[(ty * 8 + r) * (BN + 1) + tx] = acc[r];
    __syncthreads();
    float* part = workspace + (tile * 2 + (first % STEPS != 0)) * BM * BN;
    for (int i = tid; i < BM * BN; i += T) part[i] = Cs[i / BN * (BN + 1) + i % BN];
    __syncthreads();
  }
}
static __global__ void fix_up(float* workspace) {
  float* part = workspace + blockIdx.x * 2 * BM * BN;
  for (int i = threadIdx.x; i < BM * BN; i += T) part[i] += part[BM * BN + i];
}
""",
    "in, out, 3, 12",
    4,
    "\n  fix_up<<<3, T>>>(out);",
)

FAMILIES = (ATTENTION, PIPELINED, MLP, STREAM_K)
