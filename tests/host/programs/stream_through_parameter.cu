#include <cuda_runtime.h>

cudaError_t make(cudaStream_t* out) {
  cudaStream_t s;
  cudaError_t err = cudaStreamCreate(&s);
  if (err != cudaSuccess) return err;
  *out = s;
  return cudaSuccess;
}
void program() {
  cudaStream_t s;
  make(&s);
  cudaStreamDestroy(s);
}
