// A return between the creation and the end of the function.
#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
int host(float* p, int n) {
  cudaStream_t s;
  cudaStreamCreate(&s);  // SMEM601
  if (n == 0) return 1;
  fill<<<1, 32, 0, s>>>(p);
  cudaStreamSynchronize(s);
  cudaStreamDestroy(s);
  return 0;
}
void program() { host(nullptr, 0); }
