"""A merge that rests on an assumption is unsafe, and its title names the assumption."""

from __future__ import annotations

from harness import (
    check_rewrite,
)

from smem_lsp.fixes.model import Safety


def test_a_block_size_that_only_a_launch_suggests_makes_a_merge_unsafe() -> None:
    check_rewrite(
        """
 __global__ void k(const float* in, float* out, int n) {
   __shared__ float a[256];
-  __shared__ float b[256];
+  float (&b)[256] = a;  // shares a's bytes: a is dead by then
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
        title="assumes the 256×1×1 block of line 16",
    )


def test_a_kernel_that_no_other_file_can_launch_has_the_block_size_of_its_launch() -> None:
    check_rewrite(
        """
 static __global__ void k(const float* in, float* out, int n) {
   __shared__ float a[256];
-  __shared__ float b[256];
+  float (&b)[256] = a;  // shares a's bytes: a is dead by then
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
"""
    )


def test_a_block_size_that_the_author_states_is_a_fact() -> None:
    check_rewrite(
        """
 __global__ void k(const float* in, float* out, int n) {  // smem: assume(blockDim.x == 256)
   __shared__ float a[256];
-  __shared__ float b[256];
+  float (&b)[256] = a;  // shares a's bytes: a is dead by then
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
"""
    )


def test_other_branches_of_a_conditional_make_a_merge_unsafe() -> None:
    check_rewrite(
        """
 __global__ void k(const float* in, float* out) {
   __shared__ float tile[512];
-  __shared__ float red[256];
+  float (&red)[256] = *reinterpret_cast<float (*)[256]>(&tile);  // shares tile's bytes: tile is dead by then
+  static_assert(sizeof(red) <= sizeof(tile), "red must fit in tile");
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
