// The second turn writes what the kernel of the first one uses.
#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] += 1.0f; }
void host(int n) {
  float* p;
  cudaMallocManaged(&p, 128);
  for (int i = 0; i < n; ++i) {
    p[0] = float(i);  // SMEM602
    fill<<<1, 32>>>(p);
  }
  cudaDeviceSynchronize();
  cudaFree(p);
}
void program() { host(2); }
