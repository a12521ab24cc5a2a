#include <cuda_runtime.h>

struct Worker {
  cudaStream_t stream;
  Worker() { cudaStreamCreate(&stream); }
  ~Worker() { cudaStreamDestroy(stream); }
};
void program() { Worker worker; }
