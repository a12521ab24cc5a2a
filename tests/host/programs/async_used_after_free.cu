#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
void host() {
  cudaStream_t a;
  cudaStreamCreate(&a);
  float* p;
  cudaMallocAsync((void**)&p, 128, a);
  cudaFreeAsync(p, a);
  cudaMemsetAsync(p, 0, 128, a);  // SMEM603
  cudaStreamDestroy(a);
}
void program() { host(); }
