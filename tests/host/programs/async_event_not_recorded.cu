// A wait for an event that is recorded only afterwards orders nothing.
#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
void host() {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  cudaEvent_t ready;
  cudaEventCreate(&ready);
  float* p;
  cudaMallocAsync((void**)&p, 128, a);
  cudaStreamWaitEvent(b, ready, 0);
  cudaEventRecord(ready, a);
  fill<<<1, 32, 0, b>>>(p);  // SMEM603
  cudaStreamSynchronize(b);
  cudaFreeAsync(p, a);
  cudaEventDestroy(ready);
  cudaStreamDestroy(a);
  cudaStreamDestroy(b);
}
void program() { host(); }
