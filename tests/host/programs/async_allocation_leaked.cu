#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
int host(cudaStream_t s, int n) {
  float* p;
  cudaMallocAsync((void**)&p, 128, s);  // SMEM601
  fill<<<1, 32, 0, s>>>(p);
  if (n == 0) return 1;
  cudaFreeAsync(p, s);
  return 0;
}
void program() { host(0, 0); }
