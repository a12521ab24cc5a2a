#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
void host(float* p, bool own) {
  cudaStream_t s = nullptr;
  if (own) cudaStreamCreate(&s);  // SMEM601
  fill<<<1, 32, 0, s>>>(p);
  cudaStreamSynchronize(s);
}
void program() { host(nullptr, true); }
