#include <cuda_runtime.h>

void host() {
  cudaStream_t s;
  cudaStreamCreate(&s);
  cudaStream_t other = s;
  cudaStreamSynchronize(other);
  cudaStreamDestroy(other);
}
void program() { host(); }
