// The macro returns where a call fails: that path is the macro's, not the function's.
#include <cuda_runtime.h>

#define CHECK(call) \
  do { \
    cudaError_t err = (call); \
    if (err != cudaSuccess) return 1; \
  } while (0)
__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
int host(float* p) {
  cudaStream_t s;
  CHECK(cudaStreamCreate(&s));
  fill<<<1, 32, 0, s>>>(p);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamSynchronize(s));
  CHECK(cudaStreamDestroy(s));
  return 0;
}
void program() { host(nullptr); }
