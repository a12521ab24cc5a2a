#include <cuda_runtime.h>

int host(int mode) {
  cudaStream_t s;
  cudaStreamCreate(&s);  // SMEM601
  switch (mode) {
    case 0:
      cudaStreamDestroy(s);
      break;
    case 1:
      return 1;
    default:
      cudaStreamDestroy(s);
  }
  return 0;
}
void program() { host(1); }
