// Of ATen the current stream, and what the real header includes: ours, for reading only.
#pragma once

#include <ATen/Tensor.h>
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

namespace at::cuda {

struct CUDAStream {
  cudaStream_t stream() const { return nullptr; }
  operator cudaStream_t() const { return nullptr; }
};
inline CUDAStream getCurrentCUDAStream() { return {}; }
inline CUDAStream getStreamFromPool(bool = false) { return {}; }

}  // namespace at::cuda
