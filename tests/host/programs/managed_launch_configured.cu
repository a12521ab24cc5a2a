#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
float host() {
  cudaStream_t s;
  cudaStreamCreate(&s);
  float* p;
  cudaMallocManaged(&p, 128);
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(32);
  config.stream = s;
  cudaLaunchKernelEx(&config, fill, p);
  cudaStreamSynchronize(s);
  float first = p[0];
  cudaFree(p);
  cudaStreamDestroy(s);
  return first;
}
void program() { host(); }
