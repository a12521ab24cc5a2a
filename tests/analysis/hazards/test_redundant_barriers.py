"""SMEM204: barriers that order nothing, by the bytes that each thread touches."""

from __future__ import annotations

from carets import expect

JUDGED = ("SMEM204",)


def test_members_of_a_thread_s_own_element_need_no_barrier() -> None:
    expect(
        """
// smem: assume(blockDim.x == 256)
__global__ void k(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float2 s[256];
  const int t = threadIdx.x;
  s[t] = make_float2(in[t], in[t + 256]);
  __syncthreads();
//^^^^^^^^^^^^^^^ SMEM204 no shared or global access needs this barrier
  out[t] = s[t].x - s[t].y;
}
""",
        among=JUDGED,
    )


def test_members_of_another_thread_s_element_need_one() -> None:
    expect(
        """
// smem: assume(blockDim.x == 256)
__global__ void k(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float2 s[256];
  const int t = threadIdx.x;
  s[t] = make_float2(in[t], in[t + 256]);
  __syncthreads();
  out[t] = s[t ^ 32].x - s[t ^ 32].y;
}
""",
        among=JUDGED,
    )


def test_the_last_part_of_a_thread_s_own_vector_needs_no_barrier() -> None:
    expect(
        """
// smem: assume(blockDim.x == 256)
__global__ void k(const float4* __restrict__ in, float* __restrict__ out) {
  extern __shared__ __align__(16) float s[];
  const int t = threadIdx.x;
  reinterpret_cast<float4*>(s)[t] = in[t];
  __syncthreads();
//^^^^^^^^^^^^^^^ SMEM204 no shared or global access needs this barrier
  out[t] = s[4 * t + 3];
}
""",
        among=JUDGED,
    )


def test_the_first_part_of_the_next_vector_needs_one() -> None:
    expect(
        """
// smem: assume(blockDim.x == 256)
__global__ void k(const float4* __restrict__ in, float* __restrict__ out) {
  extern __shared__ __align__(16) float s[];
  const int t = threadIdx.x;
  reinterpret_cast<float4*>(s)[t] = in[t];
  __syncthreads();
  out[t] = s[4 * t + 4];
}
""",
        among=JUDGED,
    )


def test_two_names_of_dynamic_memory_are_the_same_bytes() -> None:
    expect(
        """
// smem: assume(blockDim.x == 256)
__global__ void k(const float* __restrict__ in, int* __restrict__ out) {
  extern __shared__ float a[];
  extern __shared__ int b[];
  const int t = threadIdx.x;
  a[t] = in[t];
  __syncthreads();
  out[t] = b[255 - t];
}
""",
        among=JUDGED,
    )


def test_the_array_of_a_helper_does_not_stand_in_the_way() -> None:
    expect(
        """
// smem: assume(blockDim.x == 256)
__device__ float sum(float v) {
  __shared__ float part[512];
  part[threadIdx.x] = v;
  __syncthreads();
  float r = part[threadIdx.x] + part[255 - threadIdx.x];
  __syncthreads();
  return r;
}
__global__ void k(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float s[256];
  const int t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  float v = s[255 - t];
  __syncthreads();
//^^^^^^^^^^^^^^^ SMEM204 no shared or global access needs this barrier
  out[t] = sum(v) + sum(v * v);
}
""",
        among=JUDGED,
    )
