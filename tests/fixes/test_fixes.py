"""What each rewrite looks like: the kernel before and after, in the author's style, and when it is refused."""

from __future__ import annotations

import re

import pytest
from harness import check_fix, check_no_fix, compile_cubin, merges_offered, only_fix, promised_bytes

from smem_lsp.config import Config
from smem_lsp.engine import apply, check
from smem_lsp.fixes.model import Safety

TWO_BUFFERS = """\
__global__ void k(const float* in, float* out) {
  __shared__ float tile[512];
  __shared__ float red[256];
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
TWO_BUFFERS_MERGED = TWO_BUFFERS.replace(
    "  __shared__ float red[256];",
    "  float (&red)[256] = *reinterpret_cast<float (*)[256]>(&tile);"
    "  // shares tile's bytes: tile is dead by then\n"
    '  static_assert(sizeof(red) <= sizeof(tile), "red must fit in tile");',
)


# ---- one buffer covers the others: a guest in its host ---------------------------------------------------


def test_a_smaller_buffer_becomes_a_guest_in_a_larger_one() -> None:
    check_fix(
        """
__global__ void k(const float* in, float* out) {
  __shared__ float tile[512];
  __shared__ float red[256];
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
""",
        """
__global__ void k(const float* in, float* out) {
  __shared__ float tile[512];
  float (&red)[256] = *reinterpret_cast<float (*)[256]>(&tile);  // shares tile's bytes: tile is dead by then
  static_assert(sizeof(red) <= sizeof(tile), "red must fit in tile");
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
""",
    )


def test_a_buffer_of_the_same_type_becomes_another_name() -> None:
    check_fix(
        """
__global__ void k(const float* in, float* out) {
  __shared__ float tile[512];
  __shared__ float red[512];
  int tid = threadIdx.x;
  tile[tid] = in[tid];
  tile[tid + 256] = in[tid + 256];
  __syncthreads();
  float s = tile[511 - tid];
  __syncthreads();
  red[tid] = s;
  red[tid + 256] = s;
  __syncthreads();
  out[tid] = red[255 - tid];
}
""",
        """
__global__ void k(const float* in, float* out) {
  __shared__ float tile[512];
  float (&red)[512] = tile;  // shares tile's bytes: tile is dead by then
  int tid = threadIdx.x;
  tile[tid] = in[tid];
  tile[tid + 256] = in[tid + 256];
  __syncthreads();
  float s = tile[511 - tid];
  __syncthreads();
  red[tid] = s;
  red[tid + 256] = s;
  __syncthreads();
  out[tid] = red[255 - tid];
}
""",
    )


def test_a_guest_may_have_another_element_type() -> None:
    check_fix(
        """
__global__ void k(const float* in, float* out) {
  __shared__ float tile[512];
  __shared__ int red[256];
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
""",
        """
__global__ void k(const float* in, float* out) {
  __shared__ float tile[512];
  int (&red)[256] = *reinterpret_cast<int (*)[256]>(&tile);  // shares tile's bytes: tile is dead by then
  static_assert(sizeof(red) <= sizeof(tile), "red must fit in tile");
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
""",
    )


def test_a_guest_declared_above_its_host_moves_below_it_with_its_comment() -> None:
    check_fix(
        """
__global__ void k(const float* in, float* out) {
  __shared__ float red[256];  // sums
  __shared__ float tile[512];  // input
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
""",
        """
__global__ void k(const float* in, float* out) {
  __shared__ float tile[512];  // input
  // shares tile's bytes: tile is dead by then
  float (&red)[256] = *reinterpret_cast<float (*)[256]>(&tile);  // sums
  static_assert(sizeof(red) <= sizeof(tile), "red must fit in tile");
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
""",
    )


def test_the_other_declarators_and_the_comments_of_a_declaration_stay() -> None:
    check_fix(
        """
__global__ void k(const float* in, float* out) {
  // all the buffers
  __shared__ float tile[512], red[256], rest[4];  // 3 KiB
  int tid = threadIdx.x;
  if (tid < 4) rest[tid] = in[tid];
  tile[tid] = in[tid];
  tile[tid + 256] = in[tid + 256];
  __syncthreads();
  float s = tile[511 - tid];
  __syncthreads();
  red[tid] = s;
  __syncthreads();
  out[tid] = red[255 - tid] + rest[~tid & 3];
}
""",
        """
__global__ void k(const float* in, float* out) {
  // all the buffers
  __shared__ float tile[512], rest[4];  // 3 KiB
  float (&red)[256] = *reinterpret_cast<float (*)[256]>(&tile);  // shares tile's bytes: tile is dead by then
  static_assert(sizeof(red) <= sizeof(tile), "red must fit in tile");
  int tid = threadIdx.x;
  if (tid < 4) rest[tid] = in[tid];
  tile[tid] = in[tid];
  tile[tid + 256] = in[tid + 256];
  __syncthreads();
  float s = tile[511 - tid];
  __syncthreads();
  red[tid] = s;
  __syncthreads();
  out[tid] = red[255 - tid] + rest[~tid & 3];
}
""",
    )


def test_a_guest_on_the_line_of_its_host_stays_there() -> None:
    check_fix(
        """
__global__ void k(const float* in, float* out) {
  __shared__ float t[512]; __shared__ int r[256];
  int tid = threadIdx.x;
  t[tid] = in[tid];
  t[tid + 256] = in[tid + 256];
  __syncthreads();
  float s = t[511 - tid];
  __syncthreads();
  r[tid] = s;
  __syncthreads();
  out[tid] = r[255 - tid];
}
""",
        """
__global__ void k(const float* in, float* out) {
  __shared__ float t[512]; int (&r)[256] = *reinterpret_cast<int (*)[256]>(&t);  // shares t's bytes: t is dead by then
  static_assert(sizeof(r) <= sizeof(t), "r must fit in t");
  int tid = threadIdx.x;
  t[tid] = in[tid];
  t[tid + 256] = in[tid + 256];
  __syncthreads();
  float s = t[511 - tid];
  __syncthreads();
  r[tid] = s;
  __syncthreads();
  out[tid] = r[255 - tid];
}
""",
    )


def test_tabs_stay_tabs() -> None:
    check_fix(
        """
__global__ void k(const float* in, float* out) {
\t__shared__ float tile[512];
\t__shared__ float red[256];
\tint tid = threadIdx.x;
\ttile[tid] = in[tid];
\ttile[tid + 256] = in[tid + 256];
\t__syncthreads();
\tfloat s = tile[511 - tid];
\t__syncthreads();
\tred[tid] = s;
\t__syncthreads();
\tout[tid] = red[255 - tid];
}
""",
        """
__global__ void k(const float* in, float* out) {
\t__shared__ float tile[512];
\tfloat (&red)[256] = *reinterpret_cast<float (*)[256]>(&tile);  // shares tile's bytes: tile is dead by then
\tstatic_assert(sizeof(red) <= sizeof(tile), "red must fit in tile");
\tint tid = threadIdx.x;
\ttile[tid] = in[tid];
\ttile[tid + 256] = in[tid + 256];
\t__syncthreads();
\tfloat s = tile[511 - tid];
\t__syncthreads();
\tred[tid] = s;
\t__syncthreads();
\tout[tid] = red[255 - tid];
}
""",
    )


def test_a_volatile_guest_stays_volatile() -> None:
    check_fix(
        """
__global__ void k(const float* in, float* out) {
  __shared__ float t[512];
  __shared__ volatile int r[256];
  int tid = threadIdx.x;
  t[tid] = in[tid];
  t[tid + 256] = in[tid + 256];
  __syncthreads();
  float s = t[511 - tid];
  __syncthreads();
  r[tid] = s;
  __syncthreads();
  out[tid] = r[255 - tid];
}
""",
        """
__global__ void k(const float* in, float* out) {
  __shared__ float t[512];
  volatile int (&r)[256] = *reinterpret_cast<volatile int (*)[256]>(&t);  // shares t's bytes: t is dead by then
  static_assert(sizeof(r) <= sizeof(t), "r must fit in t");
  int tid = threadIdx.x;
  t[tid] = in[tid];
  t[tid + 256] = in[tid + 256];
  __syncthreads();
  float s = t[511 - tid];
  __syncthreads();
  r[tid] = s;
  __syncthreads();
  out[tid] = r[255 - tid];
}
""",
    )


def test_the_host_is_aligned_for_a_guest_of_doubles() -> None:
    check_fix(
        """
__global__ void k(const float* in, float* out) {
  __shared__ float tile[512];
  __shared__ double red[256];
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
""",
        """
__global__ void k(const float* in, float* out) {
  alignas(double) __shared__ float tile[512];
  double (&red)[256] = *reinterpret_cast<double (*)[256]>(&tile);  // shares tile's bytes: tile is dead by then
  static_assert(sizeof(red) <= sizeof(tile), "red must fit in tile");
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
""",
    )


def test_the_host_takes_over_an_alignment_that_a_guest_asked_for() -> None:
    check_fix(
        """
__global__ void k(const float* in, float* out) {
  __shared__ float tile[512];
  __shared__ alignas(16) float red[256];
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
""",
        """
__global__ void k(const float* in, float* out) {
  alignas(16) __shared__ float tile[512];
  float (&red)[256] = *reinterpret_cast<float (*)[256]>(&tile);  // shares tile's bytes: tile is dead by then
  static_assert(sizeof(red) <= sizeof(tile), "red must fit in tile");
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
""",
    )


def test_the_host_is_aligned_for_the_vectors_that_a_guest_is_read_as() -> None:
    check_fix(
        """
__global__ void k(const float* in, float* out) {
  __shared__ float tile[512];
  __shared__ float red[256];
  int tid = threadIdx.x;
  tile[tid] = in[tid];
  tile[tid + 256] = in[tid + 256];
  __syncthreads();
  float s = tile[511 - tid];
  __syncthreads();
  red[tid] = s;
  __syncthreads();
  out[tid] = reinterpret_cast<const float4*>(red)[tid / 4].x;
}
""",
        """
__global__ void k(const float* in, float* out) {
  alignas(16) __shared__ float tile[512];
  float (&red)[256] = *reinterpret_cast<float (*)[256]>(&tile);  // shares tile's bytes: tile is dead by then
  static_assert(sizeof(red) <= sizeof(tile), "red must fit in tile");
  int tid = threadIdx.x;
  tile[tid] = in[tid];
  tile[tid + 256] = in[tid + 256];
  __syncthreads();
  float s = tile[511 - tid];
  __syncthreads();
  red[tid] = s;
  __syncthreads();
  out[tid] = reinterpret_cast<const float4*>(red)[tid / 4].x;
}
""",
    )


def test_the_host_is_aligned_for_the_vectors_that_itself_is_written_as() -> None:
    check_fix(
        """
__global__ void k(const float4* in, float* out) {
  __shared__ float tile[512];
  __shared__ float red[128];
  int tid = threadIdx.x;
  reinterpret_cast<float4*>(tile)[tid] = in[tid];
  __syncthreads();
  float s = tile[511 - tid];
  __syncthreads();
  red[tid] = s;
  __syncthreads();
  out[tid] = red[127 - tid];
}
""",
        """
__global__ void k(const float4* in, float* out) {
  alignas(16) __shared__ float tile[512];
  float (&red)[128] = *reinterpret_cast<float (*)[128]>(&tile);  // shares tile's bytes: tile is dead by then
  static_assert(sizeof(red) <= sizeof(tile), "red must fit in tile");
  int tid = threadIdx.x;
  reinterpret_cast<float4*>(tile)[tid] = in[tid];
  __syncthreads();
  float s = tile[511 - tid];
  __syncthreads();
  red[tid] = s;
  __syncthreads();
  out[tid] = red[127 - tid];
}
""",
    )


def test_macros_in_dimensions_stay_in_charge() -> None:
    check_fix(
        """
#define N 256
__global__ void k(const float* in, float* out) {
  __shared__ float tile[2 * N];
  __shared__ float red[N];
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
""",
        """
#define N 256
__global__ void k(const float* in, float* out) {
  __shared__ float tile[2 * N];
  float (&red)[N] = *reinterpret_cast<float (*)[N]>(&tile);  // shares tile's bytes: tile is dead by then
  static_assert(sizeof(red) <= sizeof(tile), "red must fit in tile");
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
""",
    )


def test_scalars_are_guests_too() -> None:
    check_fix(
        """
__global__ void k(const float* in, float* out) {
  __shared__ float tile[256];
  __shared__ float red[256];
  __shared__ float total;
  int tid = threadIdx.x;
  tile[tid] = in[tid];
  __syncthreads();
  float s = tile[255 - tid];
  __syncthreads();
  red[tid] = s;
  __syncthreads();
  float t = red[255 - tid];
  __syncthreads();
  if (tid == 0) total = t;
  __syncthreads();
  out[tid] = total;
}
""",
        """
__global__ void k(const float* in, float* out) {
  __shared__ float tile[256];
  float (&red)[256] = tile;  // shares tile's bytes: tile is dead by then
  float& total = *reinterpret_cast<float*>(&tile);  // shares tile's bytes: tile is dead by then
  static_assert(sizeof(total) <= sizeof(tile), "total must fit in tile");
  int tid = threadIdx.x;
  tile[tid] = in[tid];
  __syncthreads();
  float s = tile[255 - tid];
  __syncthreads();
  red[tid] = s;
  __syncthreads();
  float t = red[255 - tid];
  __syncthreads();
  if (tid == 0) total = t;
  __syncthreads();
  out[tid] = total;
}
""",
    )


def test_a_guest_in_an_inner_scope_stays_there() -> None:
    check_fix(
        """
__global__ void k(const float* in, float* out) {
  __shared__ float tile[512];
  int tid = threadIdx.x;
  tile[tid] = in[tid];
  tile[tid + 256] = in[tid + 256];
  __syncthreads();
  float s = tile[511 - tid];
  __syncthreads();
  {
    __shared__ float red[256];
    red[tid] = s;
    __syncthreads();
    s = red[255 - tid];
  }
  out[tid] = s;
}
""",
        """
__global__ void k(const float* in, float* out) {
  __shared__ float tile[512];
  int tid = threadIdx.x;
  tile[tid] = in[tid];
  tile[tid + 256] = in[tid + 256];
  __syncthreads();
  float s = tile[511 - tid];
  __syncthreads();
  {
    float (&red)[256] = *reinterpret_cast<float (*)[256]>(&tile);  // shares tile's bytes: tile is dead by then
    static_assert(sizeof(red) <= sizeof(tile), "red must fit in tile");
    red[tid] = s;
    __syncthreads();
    s = red[255 - tid];
  }
  out[tid] = s;
}
""",
    )


def test_two_pairs_are_rewritten_at_once() -> None:
    check_fix(
        """
__global__ void k(const float* in, float* out) {
  __shared__ float a[256];
  __shared__ float b[256];
  __shared__ float c[256];
  __shared__ float d[256];
  int tid = threadIdx.x;
  a[tid] = in[tid];
  __syncthreads();
  b[tid] = a[255 - tid];
  __syncthreads();
  c[tid] = b[255 - tid];
  __syncthreads();
  d[tid] = c[255 - tid];
  __syncthreads();
  out[tid] = d[255 - tid];
}
""",
        """
__global__ void k(const float* in, float* out) {
  __shared__ float a[256];
  __shared__ float b[256];
  float (&c)[256] = a;  // shares a's bytes: a is dead by then
  float (&d)[256] = b;  // shares b's bytes: b is dead by then
  int tid = threadIdx.x;
  a[tid] = in[tid];
  __syncthreads();
  b[tid] = a[255 - tid];
  __syncthreads();
  c[tid] = b[255 - tid];
  __syncthreads();
  d[tid] = c[255 - tid];
  __syncthreads();
  out[tid] = d[255 - tid];
}
""",
    )


# ---- phases: a union of structs --------------------------------------------------------------------------


def test_a_gemm_gets_a_mainloop_and_an_epilogue() -> None:
    check_fix(
        """
constexpr int BM = 32, BN = 32, BK = 16;
__global__ void gemm(const float* A, const float* B, float* C, int K) {
  __shared__ float As[BM][BK];
  __shared__ float Bs[BK][BN];
  int x = threadIdx.x, y = threadIdx.y;
  float sum = 0.0f;
  for (int k = 0; k < K; k += BK) {
    As[y][x & 15] = A[y * K + k + x];
    Bs[y & 15][x] = B[(k + y) * BN + x];
    __syncthreads();
    for (int i = 0; i < BK; ++i) sum += As[y][i] * Bs[i][x];
    __syncthreads();
  }
  __shared__ float Cs[BM][BN];
  Cs[y][x] = sum;
  __syncthreads();
  C[y * BN + x] = Cs[x][y];
}
""",
        """
constexpr int BM = 32, BN = 32, BK = 16;
__global__ void gemm(const float* A, const float* B, float* C, int K) {
  union Smem {
    struct { float As[BM][BK]; float Bs[BK][BN]; } mainloop;
    struct { float Cs[BM][BN]; } epilogue;
  };
  __shared__ Smem smem;  // mainloop and epilogue share their bytes: never live together
  auto& As = smem.mainloop.As;
  auto& Bs = smem.mainloop.Bs;
  int x = threadIdx.x, y = threadIdx.y;
  float sum = 0.0f;
  for (int k = 0; k < K; k += BK) {
    As[y][x & 15] = A[y * K + k + x];
    Bs[y & 15][x] = B[(k + y) * BN + x];
    __syncthreads();
    for (int i = 0; i < BK; ++i) sum += As[y][i] * Bs[i][x];
    __syncthreads();
  }
  auto& Cs = smem.epilogue.Cs;
  Cs[y][x] = sum;
  __syncthreads();
  C[y * BN + x] = Cs[x][y];
}
""",
    )


def test_other_phases_are_numbered() -> None:
    check_fix(
        """
__global__ void k(const float* in, float* out) {
  __shared__ float keys[256];
  __shared__ float values[256];
  __shared__ float sums[384];
  int tid = threadIdx.x;
  keys[tid] = in[tid];
  values[tid] = in[tid + 256];
  __syncthreads();
  float s = keys[255 - tid] * values[tid ^ 1];
  __syncthreads();
  sums[tid] = s;
  __syncthreads();
  out[tid] = sums[255 - tid];
}
""",
        """
__global__ void k(const float* in, float* out) {
  union Smem {
    struct { float keys[256]; float values[256]; } phase1;
    struct { float sums[384]; } phase2;
  };
  __shared__ Smem smem;  // phase1 and phase2 share their bytes: never live together
  auto& keys = smem.phase1.keys;
  auto& values = smem.phase1.values;
  auto& sums = smem.phase2.sums;
  int tid = threadIdx.x;
  keys[tid] = in[tid];
  values[tid] = in[tid + 256];
  __syncthreads();
  float s = keys[255 - tid] * values[tid ^ 1];
  __syncthreads();
  sums[tid] = s;
  __syncthreads();
  out[tid] = sums[255 - tid];
}
""",
    )


def test_inner_scopes_that_stand_side_by_side_share_a_union_above_them() -> None:
    check_fix(
        """
__global__ void k(const float* in, float* out) {
  int tid = threadIdx.x;
  float s;
  {
    __shared__ float stage[256];
    stage[tid] = in[tid];
    __syncthreads();
    s = stage[255 - tid];
    __syncthreads();
  }
  {
    __shared__ float stage[512];
    stage[tid] = s;
    stage[tid + 256] = s;
    __syncthreads();
    s = stage[511 - tid];
  }
  out[tid] = s;
}
""",
        """
__global__ void k(const float* in, float* out) {
  union Smem {
    struct { float stage[256]; } phase1;
    struct { float stage[512]; } phase2;
  };
  __shared__ Smem smem;  // phase1 and phase2 share their bytes: never live together
  int tid = threadIdx.x;
  float s;
  {
    auto& stage = smem.phase1.stage;
    stage[tid] = in[tid];
    __syncthreads();
    s = stage[255 - tid];
    __syncthreads();
  }
  {
    auto& stage = smem.phase2.stage;
    stage[tid] = s;
    stage[tid + 256] = s;
    __syncthreads();
    s = stage[511 - tid];
  }
  out[tid] = s;
}
""",
    )


def test_a_volatile_host_and_a_plain_guest_become_a_union() -> None:
    check_fix(
        """
__global__ void k(const float* in, float* out) {
  __shared__ volatile float tile[512];
  __shared__ float red[256];
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
""",
        """
__global__ void k(const float* in, float* out) {
  union Smem {
    volatile float tile[512];
    float red[256];
  };
  __shared__ Smem smem;  // tile and red share their bytes: never live together
  auto& tile = smem.tile;
  auto& red = smem.red;
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
""",
    )


def test_names_that_the_kernel_uses_are_not_taken() -> None:
    check_fix(
        """
struct Smem { int x; };
__global__ void k(const float* in, float* out, Smem smem) {
  __shared__ float keys[256];
  __shared__ float values[256];
  __shared__ float sums[384];
  int tid = threadIdx.x;
  keys[tid] = in[tid];
  values[tid] = in[tid + 256];
  __syncthreads();
  float s = keys[255 - tid] * values[tid ^ 1] + smem.x;
  __syncthreads();
  sums[tid] = s;
  __syncthreads();
  out[tid] = sums[255 - tid];
}
""",
        """
struct Smem { int x; };
__global__ void k(const float* in, float* out, Smem smem) {
  union Smem_2 {
    struct { float keys[256]; float values[256]; } phase1;
    struct { float sums[384]; } phase2;
  };
  __shared__ Smem_2 smem_2;  // phase1 and phase2 share their bytes: never live together
  auto& keys = smem_2.phase1.keys;
  auto& values = smem_2.phase1.values;
  auto& sums = smem_2.phase2.sums;
  int tid = threadIdx.x;
  keys[tid] = in[tid];
  values[tid] = in[tid + 256];
  __syncthreads();
  float s = keys[255 - tid] * values[tid ^ 1] + smem.x;
  __syncthreads();
  sums[tid] = s;
  __syncthreads();
  out[tid] = sums[255 - tid];
}
""",
    )


# ---- offsets: one byte buffer ----------------------------------------------------------------------------


def test_a_layout_that_no_other_style_reaches_becomes_a_byte_buffer() -> None:
    check_fix(
        """
__global__ void k(const double* in, float* out) {
  __shared__ char flag[4];
  __shared__ double a[64];
  __shared__ float b[100];
  int tid = threadIdx.x;
  if (tid < 4) flag[tid] = 1;
  a[tid] = in[tid];
  __syncthreads();
  float s = a[63 - tid] + flag[tid & 3];
  __syncthreads();
  b[tid] = s;
  __syncthreads();
  out[tid] = b[63 - tid] + flag[tid & 3];
}
""",
        """
__global__ void k(const double* in, float* out) {
  constexpr size_t flag_offset = sizeof(double[64]);
  alignas(char) alignas(double) alignas(float) __shared__ unsigned char smem_storage[flag_offset + sizeof(char[4])];
  char (&flag)[4] = *reinterpret_cast<char (*)[4]>(smem_storage + flag_offset);
  double (&a)[64] = *reinterpret_cast<double (*)[64]>(smem_storage);
  float (&b)[100] = *reinterpret_cast<float (*)[100]>(smem_storage);
  int tid = threadIdx.x;
  if (tid < 4) flag[tid] = 1;
  a[tid] = in[tid];
  __syncthreads();
  float s = a[63 - tid] + flag[tid & 3];
  __syncthreads();
  b[tid] = s;
  __syncthreads();
  out[tid] = b[63 - tid] + flag[tid & 3];
}
""",
    )


# ---- barriers --------------------------------------------------------------------------------------------


def test_a_barrier_stands_in_front_of_the_next_writer_and_says_why() -> None:
    check_fix(
        """
__global__ void k(const float* in, float* out) {
  __shared__ float a[7000];
  __shared__ float b[7000];
  int tid = threadIdx.x;
  for (int i = tid; i < 7000; i += 256) a[i] = in[i];
  __syncthreads();
  float s = a[6999 - tid];
  for (int i = tid; i < 7000; i += 256) b[i] = s;
  __syncthreads();
  out[tid] = b[6999 - tid];
}
""",
        """
__global__ void k(const float* in, float* out) {
  __shared__ float a[7000];
  float (&b)[7000] = a;  // shares a's bytes: a is dead by then
  int tid = threadIdx.x;
  for (int i = tid; i < 7000; i += 256) a[i] = in[i];
  __syncthreads();
  float s = a[6999 - tid];
  __syncthreads();  // b reuses a: every warp must be done reading it
  for (int i = tid; i < 7000; i += 256) b[i] = s;
  __syncthreads();
  out[tid] = b[6999 - tid];
}
""",
        code="SMEM302",
    )


def test_a_barrier_stands_above_a_pragma() -> None:
    check_fix(
        """
__global__ void k(const float* in, float* out) {
  __shared__ float a[7000];
  __shared__ float b[7000];
  int tid = threadIdx.x;
  for (int i = tid; i < 7000; i += 256) a[i] = in[i];
  __syncthreads();
  float s = a[6999 - tid];
  #pragma unroll 4
  for (int i = tid; i < 7000; i += 256) b[i] = s;
  __syncthreads();
  out[tid] = b[6999 - tid];
}
""",
        """
__global__ void k(const float* in, float* out) {
  __shared__ float a[7000];
  float (&b)[7000] = a;  // shares a's bytes: a is dead by then
  int tid = threadIdx.x;
  for (int i = tid; i < 7000; i += 256) a[i] = in[i];
  __syncthreads();
  float s = a[6999 - tid];
  __syncthreads();  // b reuses a: every warp must be done reading it
  #pragma unroll 4
  for (int i = tid; i < 7000; i += 256) b[i] = s;
  __syncthreads();
  out[tid] = b[6999 - tid];
}
""",
        code="SMEM302",
    )


def test_a_barrier_stands_above_the_comment_of_its_statement() -> None:
    check_fix(
        """
__global__ void k(const float* in, float* out) {
  __shared__ float a[7000];
  __shared__ float b[7000];
  int tid = threadIdx.x;
  for (int i = tid; i < 7000; i += 256) a[i] = in[i];
  __syncthreads();
  float s = a[6999 - tid];
  // the second half
  // in reverse
  for (int i = tid; i < 7000; i += 256) b[i] = s;
  __syncthreads();
  out[tid] = b[6999 - tid];
}
""",
        """
__global__ void k(const float* in, float* out) {
  __shared__ float a[7000];
  float (&b)[7000] = a;  // shares a's bytes: a is dead by then
  int tid = threadIdx.x;
  for (int i = tid; i < 7000; i += 256) a[i] = in[i];
  __syncthreads();
  float s = a[6999 - tid];
  __syncthreads();  // b reuses a: every warp must be done reading it
  // the second half
  // in reverse
  for (int i = tid; i < 7000; i += 256) b[i] = s;
  __syncthreads();
  out[tid] = b[6999 - tid];
}
""",
        code="SMEM302",
    )


def test_a_barrier_is_spelled_like_its_neighbours() -> None:
    check_fix(
        """
#include <cooperative_groups.h>
__global__ void k(const float* in, float* out) {
  __shared__ float a[7000];
  __shared__ float b[7000];
  auto cta = cooperative_groups::this_thread_block();
  int tid = threadIdx.x;
  for (int i = tid; i < 7000; i += 256) a[i] = in[i];
  cta.sync();
  float s = a[6999 - tid];
  for (int i = tid; i < 7000; i += 256) b[i] = s;
  cta.sync();
  out[tid] = b[6999 - tid];
}
""",
        """
#include <cooperative_groups.h>
__global__ void k(const float* in, float* out) {
  __shared__ float a[7000];
  float (&b)[7000] = a;  // shares a's bytes: a is dead by then
  auto cta = cooperative_groups::this_thread_block();
  int tid = threadIdx.x;
  for (int i = tid; i < 7000; i += 256) a[i] = in[i];
  cta.sync();
  float s = a[6999 - tid];
  cta.sync();  // b reuses a: every warp must be done reading it
  for (int i = tid; i < 7000; i += 256) b[i] = s;
  cta.sync();
  out[tid] = b[6999 - tid];
}
""",
        code="SMEM302",
    )


def test_a_barrier_for_the_back_edge_stands_at_the_end_of_the_loop() -> None:
    check_fix(
        """
static __global__ void k(const float* in, float* out) {
  __shared__ float a[7000];
  __shared__ float b[7000];
  int tid = threadIdx.x;
  for (int t = 0; t < 4; ++t) {
    for (int i = tid; i < 7000; i += 256) a[i] = in[t * 7000 + i];
    __syncthreads();
    float s = a[6999 - tid];
    __syncthreads();
    for (int i = tid; i < 7000; i += 256) b[i] = s;
    __syncthreads();
    out[t * 256 + tid] = b[6999 - tid];
  }
}
void go(const float* in, float* out) { k<<<1, 256>>>(in, out); }
""",
        """
static __global__ void k(const float* in, float* out) {
  __shared__ float a[7000];
  float (&b)[7000] = a;  // shares a's bytes: a is dead by then
  int tid = threadIdx.x;
  for (int t = 0; t < 4; ++t) {
    for (int i = tid; i < 7000; i += 256) a[i] = in[t * 7000 + i];
    __syncthreads();
    float s = a[6999 - tid];
    __syncthreads();
    for (int i = tid; i < 7000; i += 256) b[i] = s;
    __syncthreads();
    out[t * 256 + tid] = b[6999 - tid];
    __syncthreads();  // a reuses b: every warp must be done reading it
  }
}
void go(const float* in, float* out) { k<<<1, 256>>>(in, out); }
""",
        code="SMEM302",
        safety=Safety.UNSAFE,
        title="a barrier inside a loop: 4 executions per block",
    )


# ---- what is not taken for granted -----------------------------------------------------------------------


def test_a_block_size_that_only_a_launch_suggests_makes_a_merge_unsafe() -> None:
    check_fix(
        """
__global__ void k(const float* in, float* out, int n) {
  __shared__ float a[256];
  __shared__ float b[256];
  int tid = threadIdx.x;
  for (int t = 0; t < n; ++t) {
    a[tid] = in[t * 256 + tid];
    __syncthreads();
    float v = a[255 - tid];
    __syncthreads();
    b[tid] = v;
    __syncthreads();
    out[t * 256 + tid] = b[255 - tid];
    __syncthreads();
  }
}
void go(const float* in, float* out) { k<<<1, 256>>>(in, out, 4); }
""",
        """
__global__ void k(const float* in, float* out, int n) {
  __shared__ float a[256];
  float (&b)[256] = a;  // shares a's bytes: a is dead by then
  int tid = threadIdx.x;
  for (int t = 0; t < n; ++t) {
    a[tid] = in[t * 256 + tid];
    __syncthreads();
    float v = a[255 - tid];
    __syncthreads();
    b[tid] = v;
    __syncthreads();
    out[t * 256 + tid] = b[255 - tid];
    __syncthreads();
  }
}
void go(const float* in, float* out) { k<<<1, 256>>>(in, out, 4); }
""",
        safety=Safety.UNSAFE,
        title="assumes 256 threads (launch line 16)",
    )


def test_a_kernel_that_no_other_file_can_launch_has_the_block_size_of_its_launch() -> None:
    check_fix(
        """
static __global__ void k(const float* in, float* out, int n) {
  __shared__ float a[256];
  __shared__ float b[256];
  int tid = threadIdx.x;
  for (int t = 0; t < n; ++t) {
    a[tid] = in[t * 256 + tid];
    __syncthreads();
    float v = a[255 - tid];
    __syncthreads();
    b[tid] = v;
    __syncthreads();
    out[t * 256 + tid] = b[255 - tid];
    __syncthreads();
  }
}
void go(const float* in, float* out) { k<<<1, 256>>>(in, out, 4); }
""",
        """
static __global__ void k(const float* in, float* out, int n) {
  __shared__ float a[256];
  float (&b)[256] = a;  // shares a's bytes: a is dead by then
  int tid = threadIdx.x;
  for (int t = 0; t < n; ++t) {
    a[tid] = in[t * 256 + tid];
    __syncthreads();
    float v = a[255 - tid];
    __syncthreads();
    b[tid] = v;
    __syncthreads();
    out[t * 256 + tid] = b[255 - tid];
    __syncthreads();
  }
}
void go(const float* in, float* out) { k<<<1, 256>>>(in, out, 4); }
""",
    )


def test_a_block_size_that_the_author_states_is_a_fact() -> None:
    check_fix(
        """
__global__ void k(const float* in, float* out, int n) {  // smem: assume(blockDim.x == 256)
  __shared__ float a[256];
  __shared__ float b[256];
  int tid = threadIdx.x;
  for (int t = 0; t < n; ++t) {
    a[tid] = in[t * 256 + tid];
    __syncthreads();
    float v = a[255 - tid];
    __syncthreads();
    b[tid] = v;
    __syncthreads();
    out[t * 256 + tid] = b[255 - tid];
    __syncthreads();
  }
}
""",
        """
__global__ void k(const float* in, float* out, int n) {  // smem: assume(blockDim.x == 256)
  __shared__ float a[256];
  float (&b)[256] = a;  // shares a's bytes: a is dead by then
  int tid = threadIdx.x;
  for (int t = 0; t < n; ++t) {
    a[tid] = in[t * 256 + tid];
    __syncthreads();
    float v = a[255 - tid];
    __syncthreads();
    b[tid] = v;
    __syncthreads();
    out[t * 256 + tid] = b[255 - tid];
    __syncthreads();
  }
}
""",
    )


def test_other_branches_of_a_conditional_make_a_merge_unsafe() -> None:
    check_fix(
        """
__global__ void k(const float* in, float* out) {
  __shared__ float tile[512];
  __shared__ float red[256];
  int tid = threadIdx.x;
  tile[tid] = in[tid];
  tile[tid + 256] = in[tid + 256];
  __syncthreads();
  float s = tile[511 - tid];
  __syncthreads();
#ifndef PLAIN
  s *= 2.0f;
#endif
  red[tid] = s;
  __syncthreads();
  out[tid] = red[255 - tid];
}
""",
        """
__global__ void k(const float* in, float* out) {
  __shared__ float tile[512];
  float (&red)[256] = *reinterpret_cast<float (*)[256]>(&tile);  // shares tile's bytes: tile is dead by then
  static_assert(sizeof(red) <= sizeof(tile), "red must fit in tile");
  int tid = threadIdx.x;
  tile[tid] = in[tid];
  tile[tid + 256] = in[tid + 256];
  __syncthreads();
  float s = tile[511 - tid];
  __syncthreads();
#ifndef PLAIN
  s *= 2.0f;
#endif
  red[tid] = s;
  __syncthreads();
  out[tid] = red[255 - tid];
}
""",
        safety=Safety.UNSAFE,
        title="the other branches of #if (line 10) were not checked",
    )


# ---- other fixes -----------------------------------------------------------------------------------------


def test_an_unused_buffer_is_removed() -> None:
    check_fix(
        """
__global__ void k(float* out) {
  __shared__ float a[256], b[256];
  __shared__ float c[256];
  a[threadIdx.x] = 1.0f;
  __syncthreads();
  b[threadIdx.x] = a[255 - threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = b[255 - threadIdx.x];
}
""",
        """
__global__ void k(float* out) {
  __shared__ float a[256], b[256];
  a[threadIdx.x] = 1.0f;
  __syncthreads();
  b[threadIdx.x] = a[255 - threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = b[255 - threadIdx.x];
}
""",
        code="SMEM101",
    )


def test_a_crlf_file_gets_crlf() -> None:
    before = TWO_BUFFERS.replace("\n", "\r\n")
    fix = check_fix(before, TWO_BUFFERS_MERGED.replace("\n", "\r\n"))
    assert all("\n" not in edit.text.replace("\r\n", "") for edit in fix.edits)


def test_a_text_without_a_last_line_end_stays_without() -> None:
    check_fix(TWO_BUFFERS.rstrip("\n"), TWO_BUFFERS_MERGED.rstrip("\n"))


def test_everything_on_one_line_still_reads_the_same() -> None:
    before = " ".join(line.strip() for line in TWO_BUFFERS.splitlines())
    after = apply(before, only_fix(check(before), "SMEM301"))
    assert after.split("__shared__ float tile[512];")[0] == before.split("__shared__ float tile[512];")[0]
    assert after.endswith(before.split("__shared__ float red[256];")[1])


def test_the_title_says_what_is_gained() -> None:
    launched = TWO_BUFFERS.replace("512", "8192").replace("red[256]", "red[8192]").replace("511", "8191")
    launched += "void go(const float* in, float* out) { k<<<1, 256>>>(in, out); }\n"
    fix = only_fix(check(launched, config=Config(arch=("sm_90",), registers=32)), "SMEM301")
    gained = "3 → 6 blocks/SM (sm_90, 256 threads, 32 registers)"
    assert fix.title == f"Merge tile, red: 65,536 → 32,768 B, no barrier added, {gained}; unconfirmed"


# ---- refusals ----------------------------------------------------------------------------------------------


def test_a_declaration_out_of_a_macro_is_not_rewritten() -> None:
    check_no_fix(
        """
#define SHARED_FLOATS(name, n) __shared__ float name[n]
__global__ void k(const float* in, float* out) {
  SHARED_FLOATS(tile, 512);
  SHARED_FLOATS(red, 256);
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
""",
        reason="comes from a macro",
    )


def test_a_declaration_in_a_conditional_is_not_rewritten() -> None:
    check_no_fix(
        """
__global__ void k(const float* in, float* out) {
  __shared__ float tile[512];
#ifndef WIDE
  __shared__ float red[256];
#else
  __shared__ double red[256];
#endif
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
""",
        reason="is declared in an #if branch",
    )


def test_a_declaration_in_a_switch_body_is_not_rewritten() -> None:
    check_no_fix(
        """
__global__ void k(const float* in, float* out, int n) {
  __shared__ float tile[512];
  int tid = threadIdx.x;
  tile[tid] = in[tid];
  tile[tid + 256] = in[tid + 256];
  __syncthreads();
  float s = tile[511 - tid];
  __syncthreads();
  switch (n) {
    case 0:
      __shared__ float red[256];
      red[tid] = s;
      __syncthreads();
      s = red[255 - tid];
      break;
    default:
      s = 0.0f;
      break;
  }
  out[tid] = s;
}
""",
        reason="is declared in a switch body",
    )


def test_a_lambda_that_would_copy_the_array_behind_a_reference_refuses_the_merge() -> None:
    check_no_fix(
        """
__global__ void k(const float* in, float* out) {
  __shared__ float tile[512];
  __shared__ float red[256];
  int tid = threadIdx.x;
  tile[tid] = in[tid];
  tile[tid + 256] = in[tid + 256];
  __syncthreads();
  float s = tile[511 - tid];
  __syncthreads();
  red[tid] = s;
  __syncthreads();
  auto mirrored = [=](int i) { return red[255 - i]; };
  out[tid] = mirrored(tid);
}
""",
        reason="`red` is used in a lambda that captures by copy (line 12)",
    )


def test_a_statement_inside_a_macro_argument_gets_no_barrier() -> None:
    check_no_fix(
        """
#define ONCE(statement) do { statement; } while (0)
__global__ void k(const float* in, float* out) {
  __shared__ float a[7000];
  __shared__ float b[7000];
  int tid = threadIdx.x;
  for (int i = tid; i < 7000; i += 256) a[i] = in[i];
  __syncthreads();
  ONCE(float s = a[6999 - tid]; for (int i = tid; i < 7000; i += 256) b[i] = s);
  __syncthreads();
  out[tid] = b[6999 - tid];
}
""",
        code="SMEM302",
    )


def test_no_barrier_is_put_where_only_some_threads_are_left() -> None:
    check_no_fix(
        """
__global__ void k(const float* in, float* out) {
  __shared__ float a[7000];
  __shared__ float b[7000];
  int tid = threadIdx.x;
  for (int i = tid; i < 7000; i += 256) a[i] = in[i];
  __syncthreads();
  if (tid < 128) {
    float s = a[6999 - tid];
    for (int i = tid; i < 7000; i += 128) b[i] = s;
    out[tid] = b[tid];
  }
}
""",
        code="SMEM302",
    )


# ---- rewrites that must never happen -----------------------------------------------------------------------

LARGE_TILE = """\
__global__ void k(const float* in, float* out) {{
  __shared__ float tile[512];
  int tid = threadIdx.x;
  tile[tid] = in[tid];
  tile[tid + 256] = in[tid + 256];
  __syncthreads();
  float s = tile[511 - tid];
  __syncthreads();
{}}}
"""


def compiles_as_planned(text: str) -> bool:
    """Is the merge refused, or does nvcc accept it with the bytes in its title and without a new warning?"""
    for fix in merges_offered(text):
        compiled = compile_cubin(apply(text, fix), "sm_90")
        if compiled.error or compiled.warnings or compiled.bytes != promised_bytes(fix.title):
            return False
    return True


def test_a_host_that_is_hidden_where_the_guest_stands_is_no_host() -> None:
    assert compiles_as_planned(
        LARGE_TILE.format(
            """\
  {
    float tile[4] = {s, s, s, s};
    __shared__ float red[256];
    red[tid] = tile[tid & 3];
    __syncthreads();
    out[tid] = red[255 - tid];
  }
"""
        )
    )


def test_a_guest_that_has_the_name_of_its_host_does_not_refer_to_itself() -> None:
    assert compiles_as_planned(
        LARGE_TILE.format(
            """\
  {
    __shared__ float tile[256];
    tile[tid] = s;
    __syncthreads();
    out[tid] = tile[255 - tid];
  }
"""
        )
    )


def test_a_barrier_is_never_put_into_a_comment() -> None:
    before = """\
__global__ void k(const float* in, float* out) {
  __shared__ float a[7000];
  __shared__ float b[7000];
  int tid = threadIdx.x;
  for (int i = tid; i < 7000; i += 256) a[i] = in[i];
  __syncthreads();
  float s = a[6999 - tid];
  /* from here on
  // in reverse */
  for (int i = tid; i < 7000; i += 256) b[i] = s;
  __syncthreads();
  out[tid] = b[6999 - tid];
}
"""
    after = apply(before, only_fix(check(before), "SMEM302"))
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", after, flags=re.DOTALL)
    assert code.count("__syncthreads();") == 3


@pytest.mark.parametrize("captures", ["", "&s"])
def test_a_lambda_that_does_not_capture_its_guest_still_compiles(captures: str) -> None:
    assert compiles_as_planned(
        TWO_BUFFERS.replace(
            "  red[tid] = s;", f"  auto put = [{captures}](int i, float x) {{ red[i] = x; }};\n  put(tid, s);"
        )
    )


def test_a_class_inside_the_kernel_that_uses_a_guest_still_compiles() -> None:
    store = "struct Put { __device__ void operator()(int i, float x) { red[i] = x; } };"
    assert compiles_as_planned(
        TWO_BUFFERS.replace("  red[tid] = s;", f"  {store}\n  Put{{}}(tid, s);\n  red[tid] += s;")
    )


def test_decltype_of_a_guest_still_compiles() -> None:
    assert compiles_as_planned(
        TWO_BUFFERS.replace("  red[tid] = s;", "  decltype(red)* p = &red;\n  (*p)[tid] = s;")
    )


def test_a_volatile_pointer_stays_volatile() -> None:
    before = TWO_BUFFERS.replace("float red[256]", "const float* volatile red[256]").replace("= s;", "= in;")
    before = before.replace("= red[255 - tid]", "= *red[255 - tid]")
    fix = only_fix(check(before), "SMEM301")
    assert "const float* volatile (&red)[256]" in apply(before, fix)
