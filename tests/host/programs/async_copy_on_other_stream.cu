#include <cuda_runtime.h>

void host(float* h) {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  float* p;
  cudaMallocAsync((void**)&p, 128, a);
  cudaMemcpyAsync(p, h, 128, cudaMemcpyHostToDevice, b);  // SMEM603
  cudaStreamSynchronize(b);
  cudaFreeAsync(p, a);
  cudaStreamDestroy(a);
  cudaStreamDestroy(b);
}
void program() {
  float h[32] = {};
  host(h);
}
