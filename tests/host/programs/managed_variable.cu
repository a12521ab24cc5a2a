#include <cuda_runtime.h>

__managed__ int total;
__global__ void count() { atomicAdd(&total, 1); }
int host() {
  total = 0;
  count<<<1, 32>>>();
  return total;  // SMEM602
}
void program() {
  host();
  cudaDeviceSynchronize();
}
