// The two calls that switch a profiler: ours, for reading only.
#pragma once

#include <cuda_runtime.h>

inline cudaError_t cudaProfilerStart() { return cudaSuccess; }
inline cudaError_t cudaProfilerStop() { return cudaSuccess; }
