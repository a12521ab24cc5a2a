// A query that returned success is a wait.
#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
float host() {
  cudaStream_t s;
  cudaStreamCreate(&s);
  float* p;
  cudaMallocManaged(&p, 128);
  fill<<<1, 32, 0, s>>>(p);
  float first = 0;
  while (cudaStreamQuery(s) == cudaErrorNotReady) {
  }
  if (cudaStreamQuery(s) == cudaSuccess) first = p[0];
  cudaFree(p);
  cudaStreamDestroy(s);
  return first;
}
void program() { host(); }
