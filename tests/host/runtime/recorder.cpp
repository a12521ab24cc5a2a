// What the stand-in records. Work is a number; for the host, each stream and each event a set says which work is over
// before what comes next there.
#include <cuda_runtime.h>
#include <recorder.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <sys/mman.h>
#include <vector>

extern char __start_managed[], __stop_managed[];
namespace recorder {
static int last_page __managed__ = 0;  // so that the section ends where a page does

using Work = std::set<int>;
struct Handle {
  bool destroyed = false;
};
struct Stream : Handle {
  bool blocking = true;
  bool asked = false;
  Work over;
};
struct Event : Handle {
  bool asked = false;
  Work stands_for;
};
struct Graph : Handle {
  int kernels = 0;
};
struct GraphExec : Handle {
  int kernels = 0;
};
struct Pool : Handle {};
struct Allocation {
  size_t bytes;
  Work made;  // the allocation itself
  Work uses;
  bool freed = false;
  bool captured = false;
};

static Stream legacy, per_thread;
static std::vector<Stream*> streams;
static std::vector<Handle*> handles;
static std::map<uintptr_t, Allocation> allocations;
static std::map<uintptr_t, size_t> managed;
static std::set<std::string> found;
static Work all, done;
static int next_work = 0;
static bool capturing = false;
static int captured_kernels = 0;

static void add(Work& to, const Work& from) { to.insert(from.begin(), from.end()); }
static bool covers(const Work& over, const Work& work) {
  for (int each : work)
    if (!over.count(each)) return false;
  return true;
}
static Stream* real(cudaStream_t stream) {
  if (stream == nullptr) return &legacy;
  return stream == cudaStreamPerThread ? &per_thread : stream;
}
static void alive(const Handle* handle) {
  if (handle->destroyed) found.insert("SMEM603");
}

static void protect() {
  int access = covers(done, all) ? PROT_READ | PROT_WRITE : PROT_NONE;
  for (auto& each : managed) mprotect((void*)each.first, each.second, access);
  size_t bytes = (size_t(__stop_managed - __start_managed) + 4095) / 4096 * 4096;
  if (bytes > 4096) mprotect(__start_managed, bytes - 4096, access);
}
static void caught(int, siginfo_t* info, void*) {
  auto at = (uintptr_t)info->si_addr;
  bool known = at >= (uintptr_t)__start_managed && at < (uintptr_t)__stop_managed;
  for (auto& each : managed) known = known || (at >= each.first && at < each.first + each.second);
  if (!known) abort();
  found.insert("SMEM602");
  mprotect((void*)(at / 4096 * 4096), 4096, PROT_READ | PROT_WRITE);
}

static Work over_for(Stream* stream) {
  Work over = stream->over;
  add(over, done);
  if (stream == &legacy) {
    for (Stream* each : streams)
      if (each->blocking) add(over, each->over);
    add(over, per_thread.over);
  } else if (stream->blocking) {
    add(over, legacy.over);
  }
  return over;
}
static int enqueue(Stream* stream) {
  stream->over = over_for(stream);
  int work = next_work++;
  stream->over.insert(work);
  all.insert(work);
  protect();
  return work;
}
static Allocation* allocation_at(const void* p) {
  auto after = allocations.upper_bound((uintptr_t)p);
  if (after == allocations.begin()) return nullptr;
  auto& each = *--after;
  return (uintptr_t)p < each.first + each.second.bytes ? &each.second : nullptr;
}
static void used(const void* p, Stream* stream, int work) {
  Allocation* allocation = allocation_at(p);
  if (allocation == nullptr || allocation->captured) return;
  if (allocation->freed || !covers(stream->over, allocation->made)) found.insert("SMEM603");
  allocation->uses.insert(work);
}
void launched(Stream* given, const void* const* pointers, int count) {
  Stream* stream = real(given);
  alive(stream);
  if (capturing) {
    captured_kernels++;
    return;
  }
  int work = enqueue(stream);
  for (int i = 0; i < count; ++i) used(pointers[i], stream, work);
}

void begin() {
  struct sigaction action = {};
  action.sa_sigaction = caught;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, nullptr);
  streams.clear();
  handles.clear();
  allocations.clear();
  managed.clear();
  found.clear();
  all.clear();
  done.clear();
  legacy = per_thread = Stream();
  capturing = false;
  protect();
}
void end(const char* program) {
  for (Handle* each : handles)
    if (!each->destroyed) found.insert("SMEM601");
  for (auto& each : allocations)
    if (!each.second.freed && !each.second.captured) found.insert("SMEM601");
  std::printf("%s", program);
  for (auto& each : found) std::printf(" %s", each.c_str());
  std::printf("\n");
  done = all;
  protect();
}
template <class T> static cudaError_t make(T** out) {
  *out = new T();
  handles.push_back(*out);
  return cudaSuccess;
}
static cudaError_t destroy(Handle* handle) {
  alive(handle);
  handle->destroyed = true;
  return cudaSuccess;
}
}  // namespace recorder
using namespace recorder;

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* out, unsigned flags) {
  make(out);
  (*out)->blocking = !(flags & cudaStreamNonBlocking);
  streams.push_back(*out);
  return cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t* out) { return cudaStreamCreateWithFlags(out, 0); }
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* out, unsigned flags, int) {
  return cudaStreamCreateWithFlags(out, flags);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) { return destroy(stream); }
cudaError_t cudaStreamSynchronize(cudaStream_t given) {
  Stream* stream = real(given);
  alive(stream);
  add(done, over_for(stream));
  protect();
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t given) {
  Stream* stream = real(given);
  alive(stream);
  if (!stream->asked) return stream->asked = true, cudaErrorNotReady;
  return cudaStreamSynchronize(given);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t given, cudaEvent_t event, unsigned) {
  Stream* stream = real(given);
  alive(stream);
  alive(event);
  stream->over = over_for(stream);
  add(stream->over, event->stands_for);
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  alive(real(stream));
  capturing = true;
  captured_kernels = 0;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t* out) {
  capturing = false;
  make(out);
  (*out)->kernels = captured_kernels;
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* out) { return make(out); }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* out, unsigned) { return make(out); }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  alive(event);
  event->stands_for = over_for(real(stream));
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  alive(event);
  add(done, event->stands_for);
  protect();
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  alive(event);
  if (!event->asked) return event->asked = true, cudaErrorNotReady;
  return cudaEventSynchronize(event);
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t stop) {
  alive(start);
  alive(stop);
  *ms = 1;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) { return destroy(event); }
cudaError_t cudaGraphCreate(cudaGraph_t* out, unsigned) { return make(out); }
cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return destroy(graph); }
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* out, cudaGraph_t graph, unsigned long long) {
  alive(graph);
  make(out);
  (*out)->kernels = graph->kernels;
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  alive(exec);
  alive(real(stream));
  if (exec->kernels) enqueue(real(stream));
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) { return destroy(exec); }
cudaError_t cudaMemPoolCreate(cudaMemPool_t* out, const cudaMemPoolProps*) { return make(out); }
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) { return destroy(pool); }
cudaError_t cudaMallocAsync(void** out, size_t bytes, cudaStream_t stream) {
  alive(real(stream));
  *out = std::malloc(bytes);
  Allocation& allocation = allocations[(uintptr_t)*out] = Allocation{bytes, {}, {}};
  allocation.captured = capturing;
  if (!capturing) allocation.made.insert(enqueue(real(stream)));
  return cudaSuccess;
}
cudaError_t cudaMallocFromPoolAsync(void** out, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  alive(pool);
  return cudaMallocAsync(out, bytes, stream);
}
static void release(Allocation* allocation, const Work& over) {
  if (allocation->captured) return;
  if (allocation->freed || !covers(over, allocation->uses) || !covers(over, allocation->made)) found.insert("SMEM603");
  allocation->freed = true;
}
cudaError_t cudaFreeAsync(void* p, cudaStream_t stream) {
  alive(real(stream));
  if (Allocation* allocation = allocation_at(p)) release(allocation, over_for(real(stream)));
  if (!capturing) enqueue(real(stream));
  return cudaSuccess;
}
cudaError_t cudaMallocManaged(void** out, size_t bytes, unsigned) {
  bytes = (bytes + 4095) / 4096 * 4096;
  *out = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  managed[(uintptr_t)*out] = bytes;
  protect();
  return cudaSuccess;
}
cudaError_t cudaFree(void* p) {
  if (Allocation* allocation = allocation_at(p)) {
    release(allocation, done);
    return cudaSuccess;
  }
  managed.erase((uintptr_t)p);
  return cudaDeviceSynchronize();
}
static cudaError_t copies(void* to, const void* from, Stream* stream) {
  alive(stream);
  int work = enqueue(stream);
  used(to, stream, work);
  used(from, stream, work);
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t, cudaMemcpyKind kind) {
  copies(to, from, &legacy);
  return kind == cudaMemcpyDeviceToDevice ? cudaSuccess : cudaStreamSynchronize(nullptr);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t, cudaMemcpyKind, cudaStream_t stream) {
  return copies(to, from, real(stream));
}
cudaError_t cudaMemsetAsync(void* p, int, size_t, cudaStream_t stream) { return copies(p, nullptr, real(stream)); }
cudaError_t cudaMemAdvise(const void*, size_t, cudaMemoryAdvise, cudaMemLocation) { return cudaSuccess; }
cudaError_t cudaMemPrefetchAsync(const void*, size_t, cudaMemLocation, unsigned, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaDeviceSynchronize() {
  done = all;
  protect();
  return cudaSuccess;
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return "an error"; }
cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t stream) {
  launched(stream, nullptr, 0);
  return cudaSuccess;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, void (*function)(void*), void* data) {
  alive(real(stream));
  function(data);
  return cudaSuccess;
}
