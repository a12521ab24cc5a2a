// A prefetch is no use of the memory.
#include <cuda_runtime.h>

void host(int device) {
  float* p;
  cudaMallocManaged(&p, 128);
  cudaMemAdvise(p, 128, cudaMemAdviseSetReadMostly, cudaMemLocation{});
  cudaMemPrefetchAsync(p, 128, cudaMemLocation{}, 0, 0);
  p[0] = 1.0f;
  cudaFree(p);
}
void program() { host(0); }
