// What a handler does is not followed; the normal path is.
#include <cuda_runtime.h>
#include <stdexcept>

void risky(int n) {
  if (n < 0) throw std::runtime_error("n");
}
void host(int n) {
  cudaStream_t s;
  cudaStreamCreate(&s);
  try {
    risky(n);
  } catch (const std::exception&) {
    cudaStreamDestroy(s);
    throw;
  }
  cudaStreamDestroy(s);
}
void program() { host(0); }
