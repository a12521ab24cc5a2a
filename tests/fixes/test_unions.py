"""Buffers that no single one covers: a union of phases, or one byte buffer with offsets."""

from __future__ import annotations

from harness import (
    check_rewrite,
)


def test_a_gemm_gets_a_mainloop_and_an_epilogue() -> None:
    check_rewrite(
        """
 constexpr int BM = 32, BN = 32, BK = 16;
 __global__ void gemm(const float* A, const float* B, float* C, int K) {
-  __shared__ float As[BM][BK];
-  __shared__ float Bs[BK][BN];
+  union Smem {
+    struct { float As[BM][BK]; float Bs[BK][BN]; } mainloop;
+    struct { float Cs[BM][BN]; } epilogue;
+  };
+  __shared__ Smem smem;  // mainloop and epilogue share their bytes: never live together
+  auto& As = smem.mainloop.As;
+  auto& Bs = smem.mainloop.Bs;
   int x = threadIdx.x, y = threadIdx.y;
   float sum = 0.0f;
   for (int k = 0; k < K; k += BK) {
     As[y][x & 15] = A[y * K + k + x];
     Bs[y & 15][x] = B[(k + y) * BN + x];
     __syncthreads();
     for (int i = 0; i < BK; ++i) sum += As[y][i] * Bs[i][x];
     __syncthreads();
   }
-  __shared__ float Cs[BM][BN];
+  auto& Cs = smem.epilogue.Cs;
   Cs[y][x] = sum;
   __syncthreads();
   C[y * BN + x] = Cs[x][y];
 }
"""
    )


def test_other_phases_are_numbered() -> None:
    check_rewrite(
        """
 __global__ void k(const float* in, float* out) {
-  __shared__ float keys[256];
-  __shared__ float values[256];
-  __shared__ float sums[384];
+  union Smem {
+    struct { float keys[256]; float values[256]; } phase1;
+    struct { float sums[384]; } phase2;
+  };
+  __shared__ Smem smem;  // phase1 and phase2 share their bytes: never live together
+  auto& keys = smem.phase1.keys;
+  auto& values = smem.phase1.values;
+  auto& sums = smem.phase2.sums;
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
"""
    )


def test_inner_scopes_that_stand_side_by_side_share_a_union_above_them() -> None:
    check_rewrite(
        """
 __global__ void k(const float* in, float* out) {
+  union Smem {
+    struct { float stage[256]; } phase1;
+    struct { float stage[512]; } phase2;
+  };
+  __shared__ Smem smem;  // phase1 and phase2 share their bytes: never live together
   int tid = threadIdx.x;
   float s;
   {
-    __shared__ float stage[256];
+    auto& stage = smem.phase1.stage;
     stage[tid] = in[tid];
     __syncthreads();
     s = stage[255 - tid];
     __syncthreads();
   }
   {
-    __shared__ float stage[512];
+    auto& stage = smem.phase2.stage;
     stage[tid] = s;
     stage[tid + 256] = s;
     __syncthreads();
     s = stage[511 - tid];
   }
   out[tid] = s;
 }
"""
    )


def test_a_volatile_host_and_a_plain_guest_become_a_union() -> None:
    check_rewrite(
        """
 __global__ void k(const float* in, float* out) {
-  __shared__ volatile float tile[512];
-  __shared__ float red[256];
+  union Smem {
+    volatile float tile[512];
+    float red[256];
+  };
+  __shared__ Smem smem;  // tile and red share their bytes: never live together
+  auto& tile = smem.tile;
+  auto& red = smem.red;
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
    )


def test_names_that_the_kernel_uses_are_not_taken() -> None:
    check_rewrite(
        """
 struct Smem { int x; };
 __global__ void k(const float* in, float* out, Smem smem) {
-  __shared__ float keys[256];
-  __shared__ float values[256];
-  __shared__ float sums[384];
+  union Smem_2 {
+    struct { float keys[256]; float values[256]; } phase1;
+    struct { float sums[384]; } phase2;
+  };
+  __shared__ Smem_2 smem_2;  // phase1 and phase2 share their bytes: never live together
+  auto& keys = smem_2.phase1.keys;
+  auto& values = smem_2.phase1.values;
+  auto& sums = smem_2.phase2.sums;
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
"""
    )


def test_a_layout_that_no_other_style_reaches_becomes_a_byte_buffer() -> None:
    check_rewrite(
        """
 __global__ void k(const double* in, float* out) {
-  __shared__ char flag[4];
-  __shared__ double a[64];
-  __shared__ float b[100];
+  constexpr size_t flag_offset = sizeof(double[64]);
+  alignas(char) alignas(double) alignas(float) __shared__ unsigned char smem_storage[flag_offset + sizeof(char[4])];
+  char (&flag)[4] = *reinterpret_cast<char (*)[4]>(smem_storage + flag_offset);
+  double (&a)[64] = *reinterpret_cast<double (*)[64]>(smem_storage);
+  float (&b)[100] = *reinterpret_cast<float (*)[100]>(smem_storage);
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
"""
    )
