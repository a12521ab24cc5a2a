#include <cuda_runtime.h>
#include <cuda.h>

void host() {
  CUstream a, b;
  cuStreamCreate(&a, CU_STREAM_NON_BLOCKING);
  cuStreamCreate(&b, CU_STREAM_NON_BLOCKING);
  CUevent e;
  cuEventCreate(&e, CU_EVENT_DISABLE_TIMING);
  CUdeviceptr p, q;
  cuMemAllocAsync(&p, 128, a);
  cuMemAllocAsync(&q, 128, a);
  cuEventRecord(e, a);
  cuStreamWaitEvent(b, e, 0);
  cuMemsetD32Async(p, 0, 32, b);
  cuMemFreeAsync(p, b);
  cuMemFreeAsync(q, a);
  cuEventDestroy(e);
  cuStreamDestroy(a);
  cuStreamDestroy(b);
}
void program() { host(); }
