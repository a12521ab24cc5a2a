#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
void host() {
  cudaStream_t a, b, c;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  cudaStreamCreate(&c);
  cudaEvent_t ready, one;
  cudaEventCreate(&ready);
  cudaEventCreate(&one);
  float* p;
  cudaMallocAsync((void**)&p, 256, a);
  cudaEventRecord(ready, a);
  cudaStreamWaitEvent(b, ready, 0);
  cudaStreamWaitEvent(c, ready, 0);
  fill<<<1, 32, 0, b>>>(p);
  fill<<<1, 32, 0, c>>>(p + 32);
  cudaEventRecord(one, b);
  cudaStreamWaitEvent(a, one, 0);
  cudaFreeAsync(p, a);  // SMEM603
  cudaEventDestroy(ready);
  cudaEventDestroy(one);
  cudaStreamDestroy(a);
  cudaStreamDestroy(b);
  cudaStreamDestroy(c);
}
void program() { host(); }
