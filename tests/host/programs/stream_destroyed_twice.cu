#include <cuda_runtime.h>

void host(int n) {
  cudaStream_t s;
  cudaStreamCreate(&s);
  cudaStreamSynchronize(s);
  cudaStreamDestroy(s);
  cudaStreamDestroy(s);  // SMEM603
}
void program() { host(0); }
