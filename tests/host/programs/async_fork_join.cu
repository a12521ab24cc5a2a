// One event, recorded once, is waited for by many; each joins before the free.
#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
void host() {
  cudaStream_t a, b, c;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  cudaStreamCreate(&c);
  cudaEvent_t ready, one, two;
  cudaEventCreate(&ready);
  cudaEventCreate(&one);
  cudaEventCreate(&two);
  float* p;
  cudaMallocAsync((void**)&p, 256, a);
  cudaEventRecord(ready, a);
  cudaStreamWaitEvent(b, ready, 0);
  cudaStreamWaitEvent(c, ready, 0);
  fill<<<1, 32, 0, b>>>(p);
  fill<<<1, 32, 0, c>>>(p + 32);
  cudaEventRecord(one, b);
  cudaEventRecord(two, c);
  cudaStreamWaitEvent(a, one, 0);
  cudaStreamWaitEvent(a, two, 0);
  cudaFreeAsync(p, a);
  cudaEventDestroy(ready);
  cudaEventDestroy(one);
  cudaEventDestroy(two);
  cudaStreamDestroy(a);
  cudaStreamDestroy(b);
  cudaStreamDestroy(c);
}
void program() { host(); }
