#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
float host() {
  float* p;
  cudaMallocManaged(&p, 128);
  for (int i = 0; i < 32; ++i) p[i] = 0.0f;
  fill<<<1, 32>>>(p);
  cudaDeviceSynchronize();
  float first = p[0];
  cudaFree(p);
  return first;
}
void program() { host(); }
