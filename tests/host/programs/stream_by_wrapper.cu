#include <cuda_runtime.h>

void release(cudaStream_t s) { cudaStreamDestroy(s); }
void host() {
  cudaStream_t s;
  cudaStreamCreate(&s);
  release(s);
}
void program() { host(); }
