#include <cuda_runtime.h>

void host() {
  cudaMemPool_t pool;
  cudaMemPoolProps props = {};
  cudaMemPoolCreate(&pool, &props);  // SMEM601
  cudaStream_t s;
  cudaStreamCreate(&s);
  float* p;
  cudaMallocFromPoolAsync((void**)&p, 128, pool, s);
  cudaFreeAsync(p, s);
  cudaStreamDestroy(s);
}
void program() { host(); }
