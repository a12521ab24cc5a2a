"""Where the barrier of a merge is inserted, how it is spelled, and the comment that says why."""

from __future__ import annotations

from harness import (
    check_rewrite,
)

from smem_lsp.fixes.model import Safety


def test_a_barrier_stands_in_front_of_the_next_writer_and_says_why() -> None:
    check_rewrite(
        """
 __global__ void k(const float* in, float* out) {
   __shared__ float a[7000];
-  __shared__ float b[7000];
+  float (&b)[7000] = a;  // shares a's bytes: a is dead by then
   int tid = threadIdx.x;
   for (int i = tid; i < 7000; i += 256) a[i] = in[i];
   __syncthreads();
   float s = a[6999 - tid];
+  __syncthreads();  // b reuses a: every warp must be done reading it
   for (int i = tid; i < 7000; i += 256) b[i] = s;
   __syncthreads();
   out[tid] = b[6999 - tid];
 }
""",
        code="SMEM302",
    )


def test_a_barrier_stands_above_a_pragma() -> None:
    check_rewrite(
        """
 __global__ void k(const float* in, float* out) {
   __shared__ float a[7000];
-  __shared__ float b[7000];
+  float (&b)[7000] = a;  // shares a's bytes: a is dead by then
   int tid = threadIdx.x;
   for (int i = tid; i < 7000; i += 256) a[i] = in[i];
   __syncthreads();
   float s = a[6999 - tid];
+  __syncthreads();  // b reuses a: every warp must be done reading it
   #pragma unroll 4
   for (int i = tid; i < 7000; i += 256) b[i] = s;
   __syncthreads();
   out[tid] = b[6999 - tid];
 }
""",
        code="SMEM302",
    )


def test_a_barrier_stands_above_the_comment_of_its_statement() -> None:
    check_rewrite(
        """
 __global__ void k(const float* in, float* out) {
   __shared__ float a[7000];
-  __shared__ float b[7000];
+  float (&b)[7000] = a;  // shares a's bytes: a is dead by then
   int tid = threadIdx.x;
   for (int i = tid; i < 7000; i += 256) a[i] = in[i];
   __syncthreads();
   float s = a[6999 - tid];
+  __syncthreads();  // b reuses a: every warp must be done reading it
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
    check_rewrite(
        """
 #include <cooperative_groups.h>
 __global__ void k(const float* in, float* out) {
   __shared__ float a[7000];
-  __shared__ float b[7000];
+  float (&b)[7000] = a;  // shares a's bytes: a is dead by then
   auto cta = cooperative_groups::this_thread_block();
   int tid = threadIdx.x;
   for (int i = tid; i < 7000; i += 256) a[i] = in[i];
   cta.sync();
   float s = a[6999 - tid];
+  cta.sync();  // b reuses a: every warp must be done reading it
   for (int i = tid; i < 7000; i += 256) b[i] = s;
   cta.sync();
   out[tid] = b[6999 - tid];
 }
""",
        code="SMEM302",
    )


def test_a_barrier_for_the_back_edge_stands_at_the_end_of_the_loop() -> None:
    check_rewrite(
        """
 static __global__ void k(const float* in, float* out) {
   __shared__ float a[7000];
-  __shared__ float b[7000];
+  float (&b)[7000] = a;  // shares a's bytes: a is dead by then
   int tid = threadIdx.x;
   for (int t = 0; t < 4; ++t) {
     for (int i = tid; i < 7000; i += 256) a[i] = in[t * 7000 + i];
     __syncthreads();
     float s = a[6999 - tid];
     __syncthreads();
     for (int i = tid; i < 7000; i += 256) b[i] = s;
     __syncthreads();
     out[t * 256 + tid] = b[6999 - tid];
+    __syncthreads();  // a reuses b: every warp must be done reading it
   }
 }
 void go(const float* in, float* out) { k<<<1, 256>>>(in, out); }
""",
        code="SMEM302",
        safety=Safety.UNSAFE,
        title="a barrier inside a loop: 4 executions per block",
    )
