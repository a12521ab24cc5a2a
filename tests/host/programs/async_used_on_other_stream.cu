#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
void host() {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  float* p;
  cudaMallocAsync((void**)&p, 128, a);
  fill<<<1, 32, 0, b>>>(p);  // SMEM603
  cudaFreeAsync(p, b);
  cudaStreamDestroy(a);
  cudaStreamDestroy(b);
}
void program() { host(); }
