// The wait is for another stream.
#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
void host() {
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  float* p;
  cudaMallocManaged(&p, 128);
  fill<<<1, 32, 0, a>>>(p);
  cudaStreamSynchronize(b);
  p[0] = 2.0f;  // SMEM602
  cudaStreamSynchronize(a);
  cudaFree(p);
  cudaStreamDestroy(a);
  cudaStreamDestroy(b);
}
void program() { host(); }
