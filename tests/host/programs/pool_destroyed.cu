#include <cuda_runtime.h>

void host() {
  cudaMemPool_t pool;
  cudaMemPoolProps props = {};
  props.allocType = cudaMemAllocationTypePinned;
  props.location.type = cudaMemLocationTypeDevice;
  cudaMemPoolCreate(&pool, &props);
  cudaStream_t s;
  cudaStreamCreate(&s);
  float* p;
  cudaMallocFromPoolAsync((void**)&p, 128, pool, s);
  cudaFreeAsync(p, s);
  cudaStreamDestroy(s);
  cudaMemPoolDestroy(pool);
}
void program() { host(); }
