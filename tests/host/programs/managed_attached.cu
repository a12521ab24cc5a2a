// Memory that belongs to a stream is the host's as soon as that stream is idle.
#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
// stand-in: off, it does not know about attachment
void host(float* d) {
  cudaStream_t s;
  cudaStreamCreate(&s);
  float* p;
  cudaMallocManaged(&p, 128, cudaMemAttachHost);
  fill<<<1, 32, 0, s>>>(d);
  p[0] = 1.0f;
  cudaStreamSynchronize(s);
  cudaFree(p);
  cudaStreamDestroy(s);
}
void program() { host(nullptr); }
