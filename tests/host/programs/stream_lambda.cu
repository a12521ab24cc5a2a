// A lambda destroys it.
#include <cuda_runtime.h>

template <class F> void run(F f) { f(); }
void host() {
  cudaStream_t s;
  cudaStreamCreate(&s);
  auto clean = [&] { cudaStreamDestroy(s); };
  run(clean);
}
void program() { host(); }
