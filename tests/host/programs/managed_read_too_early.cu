#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
float host() {
  float* p;
  cudaMallocManaged(&p, 128);
  fill<<<1, 32>>>(p);
  float first = p[0];  // SMEM602
  cudaFree(p);
  return first;
}
void program() { host(); }
