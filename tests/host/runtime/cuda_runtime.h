// A stand-in of the CUDA runtime that records: what is made and never released, which memory is used, freed or touched
// before it is ready. No kernel runs. It shares nothing with the checker but the documentation of the runtime.
#pragma once
#include <cstddef>
#include <type_traits>

#define __global__
#define __device__
#define __host__
#define CUDART_CB
// each variable on pages of its own, so that an access of the host can be caught
#define __managed__ __attribute__((section("managed"), aligned(4096)))

struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
inline dim3 threadIdx(0, 0, 0);
template <class T> T atomicAdd(T* p, T n) { return *p += n; }

enum cudaError_t { cudaSuccess = 0, cudaErrorNotReady = 600 };
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3 };
enum { cudaStreamDefault = 0, cudaStreamNonBlocking = 1 };
enum { cudaEventDefault = 0, cudaEventDisableTiming = 2 };
enum { cudaMemAttachGlobal = 1, cudaMemAttachHost = 2 };
enum cudaStreamCaptureMode { cudaStreamCaptureModeGlobal };
enum cudaMemoryAdvise { cudaMemAdviseSetReadMostly };
enum cudaMemAllocationType { cudaMemAllocationTypePinned = 1 };
enum cudaMemLocationType { cudaMemLocationTypeDevice = 1 };
struct cudaMemLocation {
  cudaMemLocationType type;
  int id;
};
struct cudaMemPoolProps {
  cudaMemAllocationType allocType;
  cudaMemLocation location;
};

namespace recorder {
struct Stream;
struct Event;
struct Graph;
struct GraphExec;
struct Pool;
void launched(Stream* stream, const void* const* pointers, int count);
}  // namespace recorder
using cudaStream_t = recorder::Stream*;
using cudaEvent_t = recorder::Event*;
using cudaGraph_t = recorder::Graph*;
using cudaGraphExec_t = recorder::GraphExec*;
using cudaMemPool_t = recorder::Pool*;
#define cudaStreamPerThread ((cudaStream_t)2)

struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
};

cudaError_t cudaStreamCreate(cudaStream_t*);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t*, unsigned);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t*, unsigned, int);
cudaError_t cudaStreamDestroy(cudaStream_t);
cudaError_t cudaStreamSynchronize(cudaStream_t);
cudaError_t cudaStreamQuery(cudaStream_t);
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned = 0);
cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode);
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t*);
cudaError_t cudaEventCreate(cudaEvent_t*);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t*, unsigned);
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t = nullptr);
cudaError_t cudaEventSynchronize(cudaEvent_t);
cudaError_t cudaEventQuery(cudaEvent_t);
cudaError_t cudaEventElapsedTime(float*, cudaEvent_t, cudaEvent_t);
cudaError_t cudaEventDestroy(cudaEvent_t);
cudaError_t cudaGraphCreate(cudaGraph_t*, unsigned);
cudaError_t cudaGraphDestroy(cudaGraph_t);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t*, cudaGraph_t, unsigned long long);
cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t);
cudaError_t cudaMemPoolCreate(cudaMemPool_t*, const cudaMemPoolProps*);
cudaError_t cudaMemPoolDestroy(cudaMemPool_t);
cudaError_t cudaMallocAsync(void**, size_t, cudaStream_t);
cudaError_t cudaMallocFromPoolAsync(void**, size_t, cudaMemPool_t, cudaStream_t);
cudaError_t cudaFreeAsync(void*, cudaStream_t);
cudaError_t cudaMallocManaged(void**, size_t, unsigned = cudaMemAttachGlobal);
template <class T> cudaError_t cudaMallocManaged(T** p, size_t n, unsigned flags = cudaMemAttachGlobal) {
  return cudaMallocManaged((void**)p, n, flags);
}
cudaError_t cudaFree(void*);
cudaError_t cudaMemcpy(void*, const void*, size_t, cudaMemcpyKind);
cudaError_t cudaMemcpyAsync(void*, const void*, size_t, cudaMemcpyKind, cudaStream_t = nullptr);
cudaError_t cudaMemsetAsync(void*, int, size_t, cudaStream_t = nullptr);
cudaError_t cudaMemAdvise(const void*, size_t, cudaMemoryAdvise, cudaMemLocation);
cudaError_t cudaMemPrefetchAsync(const void*, size_t, cudaMemLocation, unsigned, cudaStream_t);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaGetLastError();
const char* cudaGetErrorString(cudaError_t);
cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t);
cudaError_t cudaLaunchHostFunc(cudaStream_t, void (*)(void*), void*);

namespace recorder {
template <class T> const void* pointer_in(T value) {
  if constexpr (std::is_pointer_v<T>)
    return (const void*)value;
  else
    return nullptr;
}
// what `kernel<<<grid, block, bytes, stream>>>(arguments)` is rewritten to
template <class Kernel, class... Arguments>
void launch(Kernel, dim3, dim3, size_t, cudaStream_t stream, Arguments... arguments) {
  const void* pointers[] = {nullptr, pointer_in(arguments)...};
  launched(stream, pointers, 1 + sizeof...(Arguments));
}
}  // namespace recorder
template <class Kernel, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, Kernel kernel, Arguments... arguments) {
  recorder::launch(kernel, config->gridDim, config->blockDim, 0, config->stream, arguments...);
  return cudaSuccess;
}
