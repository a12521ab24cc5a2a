#include <cuda_runtime.h>
#include <memory>
#include <type_traits>

struct Destroy {
  void operator()(cudaStream_t s) const { cudaStreamDestroy(s); }
};
int host(int n) {
  cudaStream_t s;
  if (cudaStreamCreate(&s) != cudaSuccess) return 1;
  std::unique_ptr<std::remove_pointer_t<cudaStream_t>, Destroy> owner(s);
  if (n == 0) return 2;
  return cudaStreamSynchronize(s);
}
void program() { host(0); }
