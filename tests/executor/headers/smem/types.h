// The built-in vector types with CUDA's sizes and alignments, and the indices of the running thread.
#pragma once

#define SMEM_VECTORS(T, name, align2, align4)                                                                    \
  struct name##1 { T x; };                                                                                       \
  struct __attribute__((aligned(align2))) name##2 { T x, y; };                                                   \
  struct name##3 { T x, y, z; };                                                                                 \
  struct __attribute__((aligned(align4))) name##4 { T x, y, z, w; };                                             \
  inline name##1 make_##name##1(T x) { return {x}; }                                                             \
  inline name##2 make_##name##2(T x, T y) { return {x, y}; }                                                     \
  inline name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }                                             \
  inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }

SMEM_VECTORS(signed char, char, 2, 4)
SMEM_VECTORS(unsigned char, uchar, 2, 4)
SMEM_VECTORS(short, short, 4, 8)
SMEM_VECTORS(unsigned short, ushort, 4, 8)
SMEM_VECTORS(int, int, 8, 16)
SMEM_VECTORS(unsigned int, uint, 8, 16)
SMEM_VECTORS(float, float, 8, 16)
SMEM_VECTORS(long long, longlong, 16, 16)
SMEM_VECTORS(unsigned long long, ulonglong, 16, 16)
SMEM_VECTORS(double, double, 16, 16)
#undef SMEM_VECTORS

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

// Constant for a thread; the runtime gives each its own.
extern const uint3 threadIdx, blockIdx;
extern const dim3 blockDim, gridDim;
constexpr int warpSize = 32;
