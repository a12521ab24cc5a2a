"""Where no merge may be applied, and the reason that is shown instead."""

from __future__ import annotations

from harness import (
    check_no_fix,
)


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
