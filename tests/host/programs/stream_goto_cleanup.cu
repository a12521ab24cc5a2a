#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
int host(float* p, int n) {
  cudaError_t err;
  cudaStream_t s = nullptr;
  cudaEvent_t e = nullptr;
  err = cudaStreamCreate(&s);
  if (err != cudaSuccess) goto done;
  err = cudaEventCreate(&e);
  if (err != cudaSuccess) goto done;
  fill<<<1, 32, 0, s>>>(p);
  err = cudaEventRecord(e, s);
done:
  if (e != nullptr) cudaEventDestroy(e);
  if (s != nullptr) cudaStreamDestroy(s);
  return err != cudaSuccess;
}
void program() { host(nullptr, 1); }
