// The event stands for what was before it: not for the launch.
#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
float host() {
  cudaStream_t s;
  cudaEvent_t e;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  cudaEventCreate(&e);
  float* p;
  cudaMallocManaged(&p, 128);
  cudaEventRecord(e, s);
  fill<<<1, 32, 0, s>>>(p);
  cudaEventSynchronize(e);
  float first = p[0];  // SMEM602
  cudaStreamSynchronize(s);
  cudaFree(p);
  cudaEventDestroy(e);
  cudaStreamDestroy(s);
  return first;
}
void program() { host(); }
