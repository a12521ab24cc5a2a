"""Kernels that a linter must be silent about, as kernel engineers write them, and those that it must speak about."""

from __future__ import annotations

import pytest
from carets import codes

from smem_lsp.engine import check

ASYNC = """\
template <int N> __device__ void wait() { asm volatile("cp.async.wait_group %0;" :: "n"(N)); }
__device__ void commit() { asm volatile("cp.async.commit_group;"); }
__device__ void load(float* to, const float* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from));
}
"""
STAGES = """\
__shared__ float s[3][256];
for (int i = 0; i < 2; ++i) { load(&s[i][t], in + i * 256 + t); commit(); }
float sum = 0;
for (int k = 0; k < n; ++k) {
  wait<1>();
  __syncthreads();
  if (k + 2 < n) load(&s[(k + 2) % 3][t], in + (k + 2) * 256 + t);
  commit();
  sum += s[k % 3][255 - t];
}
out[t] = sum;
"""
HEAD = f"""\
#include <cuda_fp16.h>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
{ASYNC}__device__ void named(int id, int n) {{ asm volatile("bar.sync %0, %1;" :: "r"(id), "r"(n) : "memory"); }}
__device__ void store(float* to, const float* from, int bytes) {{
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
               :: "l"(to), "r"((unsigned)__cvta_generic_to_shared(from)), "r"(bytes) : "memory");
}}
"""


def told(body: str, attributes: str = "", launch: str = "<<<4, 256>>>") -> set[str]:
    lines = "\n".join(f"  {line}" for line in body.strip("\n").split("\n"))
    text = (
        f"{HEAD}static __global__ void {attributes} k(const float* in, float* out, int n) {{\n"
        f"  const int t = threadIdx.x;\n{lines}\n}}\n"
        f"void host(const float* in, float* out, int n) {{ k{launch}(in, out, n); }}\n"
    )
    return set(codes(check(text), among=("SMEM10", "SMEM20", "SMEM40", "SMEM506", "SMEM507")))


SILENT = {
    "F2, a padded tile": """
__shared__ float tile[32][33];
const int x = t % 32;
for (int y = t / 32; y < 32; y += 8) tile[y][x] = in[y * n + x];
__syncthreads();
for (int y = t / 32; y < 32; y += 8) out[y * n + x] = tile[x][y];
""",
    "F2, rows with a skew": """
__shared__ half a[32][64 + 8];
for (int i = t; i < 32 * 64; i += 256) a[i / 64][i % 64] = __float2half(in[i]);
__syncthreads();
for (int i = t; i < 32 * 64; i += 256) out[i] = __half2float(a[31 - i / 64][i % 64]);
""",
    "F3, the later warps return": """
__shared__ float s[64];
if (t >= 64) return;
s[t] = in[t];
__syncthreads();
out[t] = s[63 - t];
""",
    "F3, the tail of the grid returns": """
__shared__ float s[256];
const int i = blockIdx.x * blockDim.x + t;
if (i >= n) return;
s[t] = in[i];
__syncthreads();
out[i] = s[t ^ 1];
""",
    "F4, as many barriers for both kinds of warps": """
__shared__ float a[128], b[128];
if (t / 32 < 4) {
  a[t] = in[t];
  __syncthreads();
  out[t] = b[127 - t];
} else {
  b[t - 128] = in[t];
  __syncthreads();
  out[t] = a[255 - t];
}
""",
    "F5, three stages": STAGES,
    "F5, a group waits": """
__shared__ float s[256];
auto block = cg::this_thread_block();
cg::memcpy_async(block, s, in, sizeof(s));
cg::wait(block);
out[t] = s[255 - t];
""",
    "F9, a tile filled through its first row": """
__shared__ float tile[32][33];
for (int i = t; i < 32 * 33; i += 256) tile[0][i] = 0.f;
__syncthreads();
out[t] = tile[0][255 - t];
""",
    "F11, a fragment that lanes share": """
__shared__ float4 s[64];
if (t < 64) s[t] = reinterpret_cast<const float4*>(in)[t];
__syncthreads();
float sum = 0;
for (int k = 0; k < 32; ++k) {
  float4 v = s[k * 2 + t % 32 / 16];
  sum += v.x + v.y + v.z + v.w;
}
out[t] = sum;
""",
    "F11, four neighbours that become one load": """
__shared__ __align__(16) float s[1024];
for (int i = t; i < 1024; i += 256) s[i] = in[i];
__syncthreads();
float x[4];
#pragma unroll
for (int i = 0; i < 4; ++i) x[i] = s[4 * t + i];
out[t] = x[0] + x[1] + x[2] + x[3];
""",
}


@pytest.mark.parametrize("name", SILENT)
def test_it_must_be_silent(name: str) -> None:
    assert told(SILENT[name]) == set()


SPEAKS = {
    "F4, a barrier of one warp": (
        "__shared__ float s[256]; s[t] = in[t]; if (t / 32 == 0) __syncthreads(); __syncthreads();"
        " out[t] = s[255 - t];",
        "SMEM203",
    ),
    "F5, no barrier behind the wait": (STAGES.replace("  __syncthreads();\n", ""), "SMEM206"),
    "F5, a group too many left open": (STAGES.replace("wait<1>", "wait<2>"), "SMEM206"),
    "F18, half of the threads come": (
        "__shared__ float s[128]; if (t < 128) { s[t] = in[t]; named(1, 256); out[t] = s[127 - t]; }",
        "SMEM207",
    ),
    "F18, no whole warps": ("if (t < 48) named(1, 48);", "SMEM207"),
    "F18, no such barrier": ("named(16, 256);", "SMEM207"),
    "F18, nothing orders producer and consumer": (
        "__shared__ float s[128]; if (t < 128) { s[t] = in[t]; named(1, 128); } else { named(2, 128);"
        " out[t] = s[t - 128]; }",
        "SMEM201",
    ),
    "F19, a full mask behind a size": (
        "float v = in[t]; if (t < n) v += __shfl_down_sync(0xffffffff, v, 16); out[t] = v;",
        "SMEM208",
    ),
    "F20, no fence": (
        "__shared__ alignas(128) float s[256]; s[t] = in[t]; __syncthreads(); if (t == 0) store(out, s, 1024);",
        "SMEM209",
    ),
    "F20, a word that is made and used at once": (
        "__shared__ cuda::barrier<cuda::thread_scope_block> bar; if (t == 0) init(&bar, 256);"
        " bar.arrive_and_wait(); out[t] = in[t];",
        "SMEM201",
    ),
    "F21, a block may be gone": (
        "__shared__ float s[256]; auto cluster = cg::this_cluster(); s[t] = in[t]; cluster.sync();"
        " out[t] = *cluster.map_shared_rank(&s[t], 1);",
        "SMEM201",
    ),
}


@pytest.mark.parametrize("name", SPEAKS)
def test_it_must_speak(name: str) -> None:
    body, code = SPEAKS[name]
    assert code in told(body)


def test_it_must_speak_of_launches() -> None:
    """F21, a grid that its clusters do not fill; F22, resident blocks that shared memory does not allow."""
    body = "__shared__ float s[256]; s[t] = in[t]; __syncthreads(); out[t] = s[255 - t];"
    assert "SMEM507" in told(body, "__cluster_dims__(2, 1, 1)", "<<<5, 256>>>")
    large = "__shared__ float s[12000]; s[t] = in[t]; __syncthreads(); out[t] = s[255 - t];"
    assert "SMEM506" in told(large, "__launch_bounds__(256, 8)")
