#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
void host() {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  cudaEvent_t ready;
  cudaEventCreateWithFlags(&ready, cudaEventDisableTiming);
  float* p;
  cudaMallocAsync((void**)&p, 128, a);
  cudaEventRecord(ready, a);
  cudaStreamWaitEvent(b, ready, 0);
  fill<<<1, 32, 0, b>>>(p);
  cudaFreeAsync(p, b);
  cudaEventDestroy(ready);
  cudaStreamDestroy(a);
  cudaStreamDestroy(b);
}
void program() { host(); }
