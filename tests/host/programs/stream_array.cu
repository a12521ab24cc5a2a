// Made and destroyed in two loops.
#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
void host(float* p) {
  cudaStream_t streams[4];
  for (int i = 0; i < 4; ++i) cudaStreamCreate(&streams[i]);
  for (int i = 0; i < 4; ++i) fill<<<1, 32, 0, streams[i]>>>(p + 32 * i);
  for (int i = 0; i < 4; ++i) cudaStreamSynchronize(streams[i]);
  for (int i = 0; i < 4; ++i) cudaStreamDestroy(streams[i]);
}
void program() { host(nullptr); }
