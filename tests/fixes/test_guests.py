"""One buffer covers the others: the smaller ones become references to its bytes, guests in a host."""

from __future__ import annotations

from harness import (
    check_rewrite,
)


def test_a_smaller_buffer_becomes_a_guest_in_a_larger_one() -> None:
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
   red[tid] = s;
   __syncthreads();
   out[tid] = red[255 - tid];
 }
"""
    )


def test_a_buffer_of_the_same_type_becomes_another_name() -> None:
    check_rewrite(
        """
 __global__ void k(const float* in, float* out) {
   __shared__ float tile[512];
-  __shared__ float red[512];
+  float (&red)[512] = tile;  // shares tile's bytes: tile is dead by then
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
"""
    )


def test_a_guest_may_have_another_element_type() -> None:
    check_rewrite(
        """
 __global__ void k(const float* in, float* out) {
   __shared__ float tile[512];
-  __shared__ int red[256];
+  int (&red)[256] = *reinterpret_cast<int (*)[256]>(&tile);  // shares tile's bytes: tile is dead by then
+  static_assert(sizeof(red) <= sizeof(tile), "red must fit in tile");
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


def test_a_guest_declared_above_its_host_moves_below_it_with_its_comment() -> None:
    check_rewrite(
        """
 __global__ void k(const float* in, float* out) {
-  __shared__ float red[256];  // sums
   __shared__ float tile[512];  // input
+  // shares tile's bytes: tile is dead by then
+  float (&red)[256] = *reinterpret_cast<float (*)[256]>(&tile);  // sums
+  static_assert(sizeof(red) <= sizeof(tile), "red must fit in tile");
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


def test_the_other_declarators_and_the_comments_of_a_declaration_stay() -> None:
    check_rewrite(
        """
 __global__ void k(const float* in, float* out) {
   // all the buffers
-  __shared__ float tile[512], red[256], rest[4];  // 3 KiB
+  __shared__ float tile[512], rest[4];  // 3 KiB
+  float (&red)[256] = *reinterpret_cast<float (*)[256]>(&tile);  // shares tile's bytes: tile is dead by then
+  static_assert(sizeof(red) <= sizeof(tile), "red must fit in tile");
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
"""
    )


def test_a_guest_on_the_line_of_its_host_stays_there() -> None:
    check_rewrite(
        """
 __global__ void k(const float* in, float* out) {
-  __shared__ float t[512]; __shared__ int r[256];
+  __shared__ float t[512]; int (&r)[256] = *reinterpret_cast<int (*)[256]>(&t);  // shares t's bytes: t is dead by then
+  static_assert(sizeof(r) <= sizeof(t), "r must fit in t");
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
"""
    )


def test_a_volatile_guest_stays_volatile() -> None:
    check_rewrite(
        """
 __global__ void k(const float* in, float* out) {
   __shared__ float t[512];
-  __shared__ volatile int r[256];
+  volatile int (&r)[256] = *reinterpret_cast<volatile int (*)[256]>(&t);  // shares t's bytes: t is dead by then
+  static_assert(sizeof(r) <= sizeof(t), "r must fit in t");
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
"""
    )


def test_the_host_is_aligned_for_a_guest_of_doubles() -> None:
    check_rewrite(
        """
 __global__ void k(const float* in, float* out) {
-  __shared__ float tile[512];
-  __shared__ double red[256];
+  alignas(double) __shared__ float tile[512];
+  double (&red)[256] = *reinterpret_cast<double (*)[256]>(&tile);  // shares tile's bytes: tile is dead by then
+  static_assert(sizeof(red) <= sizeof(tile), "red must fit in tile");
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


def test_the_host_takes_over_an_alignment_that_a_guest_asked_for() -> None:
    check_rewrite(
        """
 __global__ void k(const float* in, float* out) {
-  __shared__ float tile[512];
-  __shared__ alignas(16) float red[256];
+  alignas(16) __shared__ float tile[512];
+  float (&red)[256] = *reinterpret_cast<float (*)[256]>(&tile);  // shares tile's bytes: tile is dead by then
+  static_assert(sizeof(red) <= sizeof(tile), "red must fit in tile");
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


def test_the_host_is_aligned_for_the_vectors_that_a_guest_is_read_as() -> None:
    check_rewrite(
        """
 __global__ void k(const float* in, float* out) {
-  __shared__ float tile[512];
-  __shared__ float red[256];
+  alignas(16) __shared__ float tile[512];
+  float (&red)[256] = *reinterpret_cast<float (*)[256]>(&tile);  // shares tile's bytes: tile is dead by then
+  static_assert(sizeof(red) <= sizeof(tile), "red must fit in tile");
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
"""
    )


def test_the_host_is_aligned_for_the_vectors_that_itself_is_written_as() -> None:
    check_rewrite(
        """
 __global__ void k(const float4* in, float* out) {
-  __shared__ float tile[512];
-  __shared__ float red[128];
+  alignas(16) __shared__ float tile[512];
+  float (&red)[128] = *reinterpret_cast<float (*)[128]>(&tile);  // shares tile's bytes: tile is dead by then
+  static_assert(sizeof(red) <= sizeof(tile), "red must fit in tile");
   int tid = threadIdx.x;
   reinterpret_cast<float4*>(tile)[tid] = in[tid];
   __syncthreads();
   float s = tile[511 - tid];
   __syncthreads();
   red[tid] = s;
   __syncthreads();
   out[tid] = red[127 - tid];
 }
"""
    )


def test_macros_in_dimensions_stay_in_charge() -> None:
    check_rewrite(
        """
 #define N 256
 __global__ void k(const float* in, float* out) {
   __shared__ float tile[2 * N];
-  __shared__ float red[N];
+  float (&red)[N] = *reinterpret_cast<float (*)[N]>(&tile);  // shares tile's bytes: tile is dead by then
+  static_assert(sizeof(red) <= sizeof(tile), "red must fit in tile");
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


def test_scalars_are_guests_too() -> None:
    check_rewrite(
        """
 __global__ void k(const float* in, float* out) {
   __shared__ float tile[256];
-  __shared__ float red[256];
-  __shared__ float total;
+  float (&red)[256] = tile;  // shares tile's bytes: tile is dead by then
+  float& total = *reinterpret_cast<float*>(&tile);  // shares tile's bytes: tile is dead by then
+  static_assert(sizeof(total) <= sizeof(tile), "total must fit in tile");
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
"""
    )


def test_a_guest_in_an_inner_scope_stays_there() -> None:
    check_rewrite(
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
-    __shared__ float red[256];
+    float (&red)[256] = *reinterpret_cast<float (*)[256]>(&tile);  // shares tile's bytes: tile is dead by then
+    static_assert(sizeof(red) <= sizeof(tile), "red must fit in tile");
     red[tid] = s;
     __syncthreads();
     s = red[255 - tid];
   }
   out[tid] = s;
 }
"""
    )


def test_two_pairs_are_rewritten_at_once() -> None:
    check_rewrite(
        """
 __global__ void k(const float* in, float* out) {
   __shared__ float a[256];
   __shared__ float b[256];
-  __shared__ float c[256];
-  __shared__ float d[256];
+  float (&c)[256] = a;  // shares a's bytes: a is dead by then
+  float (&d)[256] = b;  // shares b's bytes: b is dead by then
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
"""
    )


def test_the_host_is_aligned_for_a_guest_of_a_class_template() -> None:
    check_rewrite(
        """
 template <class A> struct V { A v; };
 __global__ void k(const float* in, float* out) {
-  __shared__ float tile[512];
-  __shared__ V<double> red[256];
+  alignas(V<double>) __shared__ float tile[512];
+  V<double> (&red)[256] = *reinterpret_cast<V<double> (*)[256]>(&tile);  // shares tile's bytes: tile is dead by then
+  static_assert(sizeof(red) <= sizeof(tile), "red must fit in tile");
   int tid = threadIdx.x;
   tile[tid] = in[tid];
   tile[tid + 256] = in[tid + 256];
   __syncthreads();
   float s = tile[511 - tid];
   __syncthreads();
   red[tid].v = s;
   __syncthreads();
   out[tid] = red[255 - tid].v;
 }
"""
    )
