// Each turn allocates, uses and frees in one stream.
#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
void host(cudaStream_t s, int n) {
  for (int i = 0; i < n; ++i) {
    float* p;
    if (cudaMallocAsync((void**)&p, 128, s) != cudaSuccess) break;
    fill<<<1, 32, 0, s>>>(p);
    cudaFreeAsync(p, s);
  }
}
void program() { host(0, 3); }
