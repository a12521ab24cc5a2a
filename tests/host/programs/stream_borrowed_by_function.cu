// The function only launches in it: the stream stays ours.
#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
void work(float* p, cudaStream_t s) { fill<<<1, 32, 0, s>>>(p); }
void host(float* p) {
  cudaStream_t s;
  cudaStreamCreate(&s);  // SMEM601
  work(p, s);
  cudaStreamSynchronize(s);
}
void program() { host(nullptr); }
