// A guard destroys it on every path.
#include <cuda_runtime.h>

struct Guard {
  cudaStream_t stream;
  explicit Guard(cudaStream_t s) : stream(s) {}
  ~Guard() { cudaStreamDestroy(stream); }
};
__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
int host(float* p, int n) {
  cudaStream_t s;
  if (cudaStreamCreate(&s) != cudaSuccess) return 1;
  Guard guard(s);
  if (n == 0) return 2;
  fill<<<1, 32, 0, s>>>(p);
  return 0;
}
void program() { host(nullptr, 0); }
