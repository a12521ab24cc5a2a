// It neither waits for non-blocking streams, nor they for it.
#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
void host() {
  cudaStream_t a;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  float* p;
  cudaMallocAsync((void**)&p, 128, a);
  fill<<<1, 32>>>(p);  // SMEM603
  cudaDeviceSynchronize();
  cudaFreeAsync(p, a);
  cudaStreamDestroy(a);
}
void program() { host(); }
