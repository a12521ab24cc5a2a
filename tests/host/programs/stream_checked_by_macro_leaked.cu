#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(call) \
  do { \
    cudaError_t err = (call); \
    if (err != cudaSuccess) { \
      std::fprintf(stderr, "%s\n", cudaGetErrorString(err)); \
      std::exit(1); \
    } \
  } while (0)
int host(int n) {
  cudaStream_t s;
  CHECK(cudaStreamCreate(&s));  // SMEM601
  if (n < 1) {
    return 1;
  }
  CHECK(cudaStreamSynchronize(s));
  CHECK(cudaStreamDestroy(s));
  return 0;
}
void program() { host(0); }
