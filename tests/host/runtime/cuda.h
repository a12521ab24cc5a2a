// The driver API over the same recorder.
#pragma once
#include <cuda_runtime.h>

enum CUresult { CUDA_SUCCESS = 0 };
enum { CU_STREAM_NON_BLOCKING = 1, CU_EVENT_DISABLE_TIMING = 2 };
using CUstream = cudaStream_t;
using CUevent = cudaEvent_t;
using CUdeviceptr = unsigned long long;

inline CUresult cuStreamCreate(CUstream* s, unsigned flags) { return CUresult(cudaStreamCreateWithFlags(s, flags)); }
inline CUresult cuStreamSynchronize(CUstream s) { return CUresult(cudaStreamSynchronize(s)); }
inline CUresult cuStreamDestroy(CUstream s) { return CUresult(cudaStreamDestroy(s)); }
inline CUresult cuStreamWaitEvent(CUstream s, CUevent e, unsigned n) { return CUresult(cudaStreamWaitEvent(s, e, n)); }
inline CUresult cuEventCreate(CUevent* e, unsigned flags) { return CUresult(cudaEventCreateWithFlags(e, flags)); }
inline CUresult cuEventRecord(CUevent e, CUstream s) { return CUresult(cudaEventRecord(e, s)); }
inline CUresult cuEventDestroy(CUevent e) { return CUresult(cudaEventDestroy(e)); }
inline CUresult cuMemAllocAsync(CUdeviceptr* p, size_t n, CUstream s) {
  return CUresult(cudaMallocAsync((void**)p, n, s));
}
inline CUresult cuMemFreeAsync(CUdeviceptr p, CUstream s) { return CUresult(cudaFreeAsync((void*)p, s)); }
inline CUresult cuMemsetD32Async(CUdeviceptr p, unsigned n, size_t count, CUstream s) {
  return CUresult(cudaMemsetAsync((void*)p, int(n), count * 4, s));
}
