// `continue` leaves the turn without destroying.
#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
void host(float* p, int n) {
  for (int i = 0; i < n; ++i) {
    cudaStream_t s;
    cudaStreamCreate(&s);  // SMEM601
    if (i == 1) continue;
    fill<<<1, 32, 0, s>>>(p);
    cudaStreamDestroy(s);
  }
}
void program() { host(nullptr, 2); }
