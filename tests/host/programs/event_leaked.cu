// Both events of a timing are forgotten.
#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
float host(float* p) {
  cudaEvent_t start, stop;
  cudaEventCreate(&start);  // SMEM601
  cudaEventCreate(&stop);  // SMEM601
  cudaEventRecord(start);
  fill<<<1, 32>>>(p);
  cudaEventRecord(stop);
  cudaEventSynchronize(stop);
  float ms = 0;
  cudaEventElapsedTime(&ms, start, stop);
  return ms;
}
void program() { host(nullptr); }
