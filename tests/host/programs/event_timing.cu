#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
float host(float* p) {
  cudaEvent_t start, stop;
  cudaEventCreate(&start);
  cudaEventCreateWithFlags(&stop, cudaEventDefault);
  cudaEventRecord(start);
  fill<<<1, 32>>>(p);
  cudaEventRecord(stop, 0);
  while (cudaEventQuery(stop) != cudaSuccess) {
  }
  float ms = 0;
  cudaEventElapsedTime(&ms, start, stop);
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
  return ms;
}
void program() { host(nullptr); }
