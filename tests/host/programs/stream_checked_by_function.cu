#include <cuda_runtime.h>

void check(cudaError_t err) {
  if (err != cudaSuccess) throw 1;
}
int host(int n) {
  cudaStream_t s;
  check(cudaStreamCreate(&s));  // SMEM601
  if (n < 1) return 1;
  check(cudaStreamDestroy(s));
  return 0;
}
void program() { host(0); }
