#include <cuda_runtime.h>

void host() {
  float* p;
  cudaMallocManaged(&p, 128);
  cudaMemsetAsync(p, 0, 128);
  p[0] = 1.0f;  // SMEM602
  cudaDeviceSynchronize();
  cudaFree(p);
}
void program() { host(); }
