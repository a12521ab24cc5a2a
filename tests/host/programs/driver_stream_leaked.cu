#include <cuda_runtime.h>
#include <cuda.h>

int host(int n) {
  CUstream s;
  if (cuStreamCreate(&s, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS) return 1;  // SMEM601
  if (n == 0) return 2;
  cuStreamSynchronize(s);
  cuStreamDestroy(s);
  return 0;
}
void program() { host(0); }
