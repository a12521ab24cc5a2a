#include <cuda_runtime.h>

void host(cudaStream_t s) {
  cudaEvent_t e;
  cudaEventCreate(&e);
  cudaEventRecord(e, s);
  cudaEventDestroy(e);  // with work pending: released when it is done
  cudaStreamWaitEvent(s, e, 0);  // SMEM603
}
void program() { host(0); }
