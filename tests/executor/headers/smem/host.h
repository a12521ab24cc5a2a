// The part of the runtime API that test programs call, and their launches.
#pragma once

#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "device.h"
#include "types.h"

enum cudaError_t { cudaSuccess = 0 };
enum cudaMemcpyKind { cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDefault };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8, cudaFuncAttributePreferredSharedMemoryCarveout = 9 };
using cudaStream_t = void*;

template <class T>
cudaError_t cudaMalloc(T** pointer, size_t bytes) {
  *pointer = static_cast<T*>(smem::allocate(bytes));
  return cudaSuccess;
}
template <class T>
cudaError_t cudaMallocManaged(T** pointer, size_t bytes, unsigned = 1) {
  return cudaMalloc(pointer, bytes);
}
inline cudaError_t cudaFree(void*) { return cudaSuccess; }  // the bytes are still to be reported
inline cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  memmove(to, from, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  memset(to, value, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline const char* cudaGetErrorString(cudaError_t) { return "no error"; }
template <class F>
cudaError_t cudaFuncSetAttribute(F*, cudaFuncAttribute, int) {
  return cudaSuccess;
}

namespace smem {

struct Launch {
  Launch(dim3 grid, dim3 block, size_t dynamic_bytes = 0, cudaStream_t = nullptr)
      : grid{grid.x, grid.y, grid.z}, block{block.x, block.y, block.z}, dynamic_bytes(dynamic_bytes) {}

  template <class F>
  void operator()(F kernel) const {
    launch(grid, block, dynamic_bytes, [](void* call) { (*static_cast<F*>(call))(); }, &kernel);
  }

  Shape grid, block;
  size_t dynamic_bytes;
};

inline void call_main(int (*main)()) { main(); }
inline void call_main(int (*main)(int, char**)) {
  char name[] = "program";
  char* arguments[] = {name, nullptr};
  main(1, arguments);
}

// Buffers of a launch that is described in Python. The values of an input are small and repeat late.
template <class T>
T* input(size_t count) {
  T* values = static_cast<T*>(allocate(count * sizeof(T)));
  for (size_t i = 0; i < count; ++i)
    values[i] = static_cast<T>(static_cast<int>((static_cast<uint32_t>(i) * 2654435761u >> 16) % 1024)) / static_cast<T>(8);
  return values;
}
template <class T>
T* output(size_t count) {
  T* values = static_cast<T*>(allocate(count * sizeof(T)));
  memset(values, 0, count * sizeof(T));
  return values;
}
// The first of the inputs is as above; every other one has its own numbers from -1 to 1, so that a condition on one of
// them is neither always true nor never.
inline const float* input_number(int which) {
  constexpr uint32_t count = 8192;
  float* values = input<float>(count);
  for (uint32_t i = 0; which != 0 && i < count; ++i)
    values[i] = static_cast<float>((i + 1 + static_cast<uint32_t>(which) * 40503u) * 2654435761u >> 16 & 2047) / 1024 - 1;
  return values;
}
// A launch of two blocks for each number of trips and each input; the kernel's arguments: numbers, a number for each
// thread, the trips.
inline void launch_each(void (*kernel)(const float*, float*, int), unsigned threads, std::initializer_list<int> trips,
                        int inputs = 1) {
  for (int which = 0; which < inputs; ++which)
    for (int n : trips) {
      const float* in = input_number(which);
      float* out = output<float>(2 * threads);
      Launch(2, threads)([=] { kernel(in, out, n); });
    }
}
// The same for a host function that launches by itself, of at most 256 threads, and for two kernels.
inline void call_each(void (*run)(const float*, float*, int), std::initializer_list<int> trips, int inputs = 1) {
  for (int which = 0; which < inputs; ++which)
    for (int n : trips) {
      const float* in = input_number(which);
      run(in, output<float>(1024), n);
    }
}
// The same for each pair of trips and extent, the last two arguments of the kernel, with dynamic shared memory.
// ``mirrored``: once more with large values where there were small ones, so that no condition on one of them is always
// or never true.
inline void launch_each(void (*kernel)(const float*, float*, int, int), dim3 block, size_t dynamic_bytes,
                        std::initializer_list<int> trips, std::initializer_list<int> extents, unsigned blocks = 2,
                        bool mirrored = false) {
  constexpr size_t count = 8192;
  for (int mirror = 0; mirror <= mirrored; ++mirror)
    for (int n : trips)
      for (int m : extents) {
        float* in = input<float>(count);
        for (size_t i = 0; mirror && i < count; ++i) in[i] = 128 - in[i];
        float* out = output<float>(blocks * block.x * block.y * block.z);
        Launch(blocks, block, dynamic_bytes)([=] { kernel(in, out, n, m); });
      }
}
// A call of a host function with an input for each pointer to const, an output for each other pointer, and numbers.
struct Given {
  int number;
  template <class T>
  operator const T*() const { return input<T>(1 << 18); }
  template <class T>
  operator T*() const { return output<T>(1 << 18); }
  operator int() const { return number; }
};
template <class... A>
void call_with(void (*run)(A...), int number) {
  run(static_cast<A>(Given{number})...);
}

}  // namespace smem
