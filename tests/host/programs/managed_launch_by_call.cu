#include <cuda_runtime.h>

__global__ void fill(float* p, int n) { p[threadIdx.x] = n; }
float host(int n) {
  cudaStream_t s;
  cudaStreamCreate(&s);
  float* p;
  cudaMallocManaged(&p, 128);
  void* arguments[] = {&p, &n};
  cudaLaunchKernel((void*)fill, dim3(1), dim3(32), arguments, 0, s);
  float first = p[0];  // SMEM602
  cudaStreamSynchronize(s);
  cudaFree(p);
  cudaStreamDestroy(s);
  return first;
}
void program() { host(1); }
