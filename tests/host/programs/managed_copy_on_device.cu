// One on the device does not.
#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
float host(float* c, float* d) {
  float* p;
  cudaMallocManaged(&p, 128);
  fill<<<1, 32>>>(p);
  cudaMemcpy(c, d, 128, cudaMemcpyDeviceToDevice);
  float first = p[0];  // SMEM602
  cudaDeviceSynchronize();
  cudaFree(p);
  return first;
}
void program() {
  float c[32] = {}, d[32] = {};
  host(c, d);
}
