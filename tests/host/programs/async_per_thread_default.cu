// The default stream of a thread orders no other stream.
#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
void host() {
  cudaStream_t a;
  cudaStreamCreate(&a);
  float* p;
  cudaMallocAsync((void**)&p, 128, a);
  fill<<<1, 32, 0, cudaStreamPerThread>>>(p);  // SMEM603
  cudaStreamSynchronize(cudaStreamPerThread);
  cudaFreeAsync(p, a);
  cudaStreamDestroy(a);
}
void program() { host(); }
