// A copy to the host waits for the default stream.
#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
float host(float* h, float* d) {
  float* p;
  cudaMallocManaged(&p, 128);
  fill<<<1, 32>>>(p);
  cudaMemcpy(h, d, 128, cudaMemcpyDeviceToHost);
  float first = p[0];
  cudaFree(p);
  return first;
}
void program() {
  float h[32] = {}, d[32] = {};
  host(h, d);
}
