// cudaFree of such memory waits for nothing.
#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
void host() {
  cudaStream_t a;
  cudaStreamCreate(&a);
  float* p;
  cudaMallocAsync((void**)&p, 128, a);
  fill<<<1, 32, 0, a>>>(p);
  cudaFree(p);  // SMEM603
  cudaStreamDestroy(a);
}
void program() { host(); }
