#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
void host() {
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithPriority(&b, cudaStreamNonBlocking, 0);
  float* p;
  cudaMallocAsync((void**)&p, 128, a);
  cudaStreamSynchronize(a);
  fill<<<1, 32, 0, b>>>(p);
  cudaFreeAsync(p, a);  // SMEM603
  cudaStreamDestroy(a);
  cudaStreamDestroy(b);
}
void program() { host(); }
