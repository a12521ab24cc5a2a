// A callback may do anything with what it is given.
#include <cuda_runtime.h>

void CUDART_CB finish(void* data) {}
void host() {
  cudaStream_t s;
  cudaStreamCreate(&s);
  int* data = nullptr;
  cudaLaunchHostFunc(s, finish, data);
  cudaStreamSynchronize(s);
  cudaStreamDestroy(s);
}
void program() { host(); }
