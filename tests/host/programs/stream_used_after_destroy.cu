#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
void host(float* p) {
  cudaStream_t s;
  cudaStreamCreate(&s);
  cudaStreamDestroy(s);
  fill<<<1, 32, 0, s>>>(p);  // SMEM603
}
void program() { host(nullptr); }
