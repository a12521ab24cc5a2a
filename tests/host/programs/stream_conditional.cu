// Made and destroyed under the same condition.
#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
void host(float* p, bool own) {
  cudaStream_t s = nullptr;
  if (own) cudaStreamCreate(&s);
  fill<<<1, 32, 0, s>>>(p);
  if (own) cudaStreamDestroy(s);
}
void program() {
  host(nullptr, true);
  host(nullptr, false);
}
