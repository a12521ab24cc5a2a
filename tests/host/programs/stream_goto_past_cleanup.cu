// The jump goes past the call that destroys.
#include <cuda_runtime.h>

int host(int n) {
  int result = 0;
  cudaStream_t s;
  if (cudaStreamCreate(&s) != cudaSuccess) return 1;  // SMEM601
  if (n == 0) {
    result = 2;
    goto done;
  }
  cudaStreamSynchronize(s);
  cudaStreamDestroy(s);
  return result;
done:
  return result;
}
void program() { host(0); }
