"""The small projects of ours that are edited: one kernel, or a few with headers, templates and launches."""

from __future__ import annotations

SMALL = {
    "mirror": """\
__global__ void mirror(float* out) {
  __shared__ float s[256];
  s[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[255 - threadIdx.x];
}
void go(float* out) { mirror<<<1, 256>>>(out); }
""",
    "racy": """\
#define WIDTH 64
__global__ void racy(int* out, int n) {
  __shared__ int s[WIDTH];
  int t = threadIdx.x;
  s[t] = n;
  out[t] = s[WIDTH - 1 - t];
}
""",
    "unused": """\
__global__ void two(float* out) {
  __shared__ float never[32];
  __shared__ float a[64], b[64];
  a[threadIdx.x] = 1;
  __syncthreads();
  float x = a[63 - threadIdx.x];
  __syncthreads();
  b[threadIdx.x] = x;
  __syncthreads();
  out[threadIdx.x] = b[63 - threadIdx.x];
}
""",
    "branch": """\
__global__ void branch(int* out, int n) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  if (out[threadIdx.x] > n) {
    atomicAdd(&count, 1);
    __syncthreads();
  }
  out[n] = count;
}
""",
    "carved": """\
extern __shared__ float memory[];
__global__ void carved(float* out, int n) {
  float* a = memory;
  float* b = memory + blockDim.x;
  a[threadIdx.x] = n;
  b[threadIdx.x] = out[n];
  __syncthreads();
  out[threadIdx.x] = a[0] + b[blockDim.x - 1];
}
void go(float* out, int n) { carved<<<1, 128, 1024>>>(out, n); }
""",
    "kinds": """\
template <int N, class T> __global__ void kinds(T* out) {
  __shared__ T s[N];
  s[threadIdx.x % N] = out[0];
  __syncthreads();
  out[threadIdx.x] = s[N - 1];
}
template __global__ void kinds<8, float>(float*);
template __global__ void kinds<16, int>(int*);
""",
    "struct": """\
struct Pair { int low; double high; };
__device__ void fill(Pair* to, int t) { to[t].low = t; }
__global__ void pairs(double* out) {
  __shared__ Pair s[32];
  fill(s, threadIdx.x);
  __syncwarp();
  out[threadIdx.x] = s[threadIdx.x ^ 1].high; // smem: ignore[SMEM201]
}
""",
    "loop": """\
__global__ void sums(float* out, const float* in, int n) {
  __shared__ float s[128];
  float sum = 0;
  for (int i = 0; i < n; ++i) {
    s[threadIdx.x] = in[i];
    __syncthreads();
    sum += s[127 - threadIdx.x];
  }
  out[threadIdx.x] = sum;
}
""",
    "counter": """\
__global__ void takes(float* out, const float* in, int n) {
  __shared__ int next, last;
  if (threadIdx.x == 0) { next = 0; last = n; }
  __syncthreads();
  while (next < last) {
    out[threadIdx.x] += in[next];
    __syncthreads();
    if (threadIdx.x == 0) next = next + 1;
    __syncthreads();
  }
}
""",
    "pointed": """\
namespace inner {
__global__ void pointed(float* out, int n) {
  extern __shared__ float s[];
  if (blockDim.x != 128) return;
  s[threadIdx.x] = out[n];
  __syncthreads();
  out[threadIdx.x] = s[127 - threadIdx.x];
}
}
typedef void (*Kernel)(float*, int);
static int threads_for(int n) { return n > 64 ? 128 : 64; }
void start(Kernel kernel, float* out, int n) { kernel<<<1, threads_for(n), 512>>>(out, n); }
void go(float* out, int n) {
  cudaFuncSetAttribute(inner::pointed, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);
  start(inner::pointed, out, n);
}
""",
    "outside": """\
__shared__ int shared_by_all[16];
static __device__ int next_of(int i) { return shared_by_all[(i + 1) % 16]; }
__global__ void one(int* out) { shared_by_all[threadIdx.x] = 1; __syncthreads(); out[0] = next_of(3); }
__global__ void other(int* out) { out[threadIdx.x] = next_of(threadIdx.x); }
""",
}
TILE = """\
#pragma once
#define TILE 64
#define AT(i) ((i) % TILE)
constexpr int WARP = 32;

template <typename T> __device__ T sum_of(const T* from, int t) {
  T sum = 0;
  for (int i = 0; i < WARP; ++i) sum += from[AT(t + i)];
  return sum;
}

__device__ inline void put(float* to, float x, int at) {
  to[at] = x;
  __syncthreads();
}
"""
SIZES = """\
#ifndef SIZES_H
#define SIZES_H
static const int THREADS = 128;
inline int blocks_for(int n) { return (n + THREADS - 1) / THREADS; }
#endif
"""
MAIN = """\
#include "tile.cuh"
#include "sizes.h"

__global__ void tiles(float* out, const float* in, int n) {
  __shared__ float s[TILE];
  int t = threadIdx.x;
  s[AT(t)] = in[t];
  __syncthreads();
  out[t] = sum_of(s, t);
}

__global__ void two(float* out, const float* in) {
  __shared__ float a[THREADS], b[THREADS];
  int t = threadIdx.x;
  put(a, in[t], t);
  float x = a[THREADS - 1 - t];
  __syncthreads();
  b[t] = x;
  __syncthreads();
  out[t] = b[THREADS - 1 - t];
}

void go(float* out, const float* in, int n) {
  tiles<<<blocks_for(n), TILE>>>(out, in, n);
  two<<<blocks_for(n), THREADS>>>(out, in);
}
"""
COPY = """\
#include "tile.cuh"
__global__ void copy(float* out, const float* in) {
  __shared__ float s[TILE];
  put(s, in[threadIdx.x], AT(threadIdx.x));
  out[threadIdx.x] = s[AT(threadIdx.x + 1)];
}
"""
HOST = """\
#define PAD 1
#define LAUNCH(K, T) K<<<4, T>>>(out, n)
constexpr int SIZE = 64;

__device__ float weight(const float* p, int i) {
  return p[i % SIZE];
}

static __global__ void plain(float* out, int n) {
  __shared__ float s[SIZE + PAD];
  s[threadIdx.x % SIZE] = out[n];
  __syncthreads();
  out[threadIdx.x] = weight(s, n);
}

template <int N, typename T> __global__ void many(T* out, int n) {
  __shared__ T s[N];
  s[threadIdx.x % N] = out[n];
  __syncthreads();
  out[threadIdx.x] = s[N - 1 - threadIdx.x % N];
}

__global__ void __launch_bounds__(256) dynamic(float* out, int n) {
  extern __shared__ float d[];
  d[threadIdx.x] = out[n];
  __syncthreads();
  out[threadIdx.x] = d[blockDim.x - 1 - threadIdx.x];
}

template <typename T> void run(T* out, int n) {
  if (n > 7) many<32, T><<<2, 32>>>(out, n);
  else many<16, T><<<2, 64>>>(out, n);
}

void go(float* out, int n) {
  plain<<<4, SIZE>>>(out, n);
  dynamic<<<4, 64, 64 * sizeof(float)>>>(out, n);
  run<float>(out, n);
  LAUNCH(plain, 64);
}
"""
UNCALLED = """\
struct Row {
  float* start;
  int width;
  __device__ void add(int at, float x) { start[at % width] += x; __syncthreads(); }
};

__device__ float first_of(float* s, int t) {
  s[t] = t;
  return s[t ^ 1];
}

__global__ void turns(float* out, const float* in, int n) {
  __shared__ float s[2][128];
  Row row{s[0], 128};
  int t = threadIdx.x;
  float sum = 0.0f;
  for (int i = 0; i < n; ++i) {
    s[i % 2][t] = in[i * 128 + t];
    __syncthreads();
    sum += s[i % 2][127 - t];
  }
  row.add(t, sum);
  out[t] = sum;
}
"""
