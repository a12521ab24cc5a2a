#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
float host() {
  cudaStream_t s;
  cudaEvent_t e;
  cudaStreamCreate(&s);
  cudaEventCreate(&e);
  float* p;
  cudaMallocManaged(&p, 128);
  fill<<<1, 32, 0, s>>>(p);
  cudaEventRecord(e, s);
  cudaEventSynchronize(e);
  float first = p[0];
  cudaFree(p);
  cudaEventDestroy(e);
  cudaStreamDestroy(s);
  return first;
}
void program() { host(); }
