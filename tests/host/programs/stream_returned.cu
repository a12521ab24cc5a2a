// Whoever calls it owns the stream.
#include <cuda_runtime.h>

cudaStream_t make() {
  cudaStream_t s;
  cudaStreamCreate(&s);
  return s;
}
void program() { cudaStreamDestroy(make()); }
