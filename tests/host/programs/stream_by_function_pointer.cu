// Released through a pointer to the API's function.
#include <cuda_runtime.h>

void host() {
  cudaError_t (*release)(cudaStream_t) = cudaStreamDestroy;
  cudaStream_t s;
  cudaStreamCreate(&s);
  release(s);
}
void program() { host(); }
