// One variable outside the loop: only the last stream is destroyed.
#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
void host(float* p, int n) {
  cudaStream_t s = nullptr;
  for (int i = 0; i < n; ++i) {
    cudaStreamCreate(&s);  // SMEM601
    fill<<<1, 32, 0, s>>>(p);
  }
  cudaDeviceSynchronize();
  if (s) cudaStreamDestroy(s);
}
void program() { host(nullptr, 2); }
