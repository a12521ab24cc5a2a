// A model of CUB's block scan: as of block_reduce.cuh.
#pragma once

#include "../../smem/intrinsics.h"
#include "../../smem/types.h"

namespace cub {

template <class T, int Threads>
class BlockScan {
 public:
  struct TempStorage {
    T of_warp[(Threads + 31) / 32];
  };

  explicit BlockScan(TempStorage& storage) : storage_(storage) {}

  void InclusiveSum(T value, T& result) {
    const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    for (unsigned by = 1; by < 32; by *= 2) {
      const T other = __shfl_up_sync(0xFFFFFFFFu, value, by);
      if (smem::lane() >= by) value = value + other;
    }
    if (thread % 32 == 31) storage_.of_warp[thread / 32] = value;
    __syncthreads();
    for (unsigned warp = 0; warp < thread / 32; ++warp) value = value + storage_.of_warp[warp];
    result = value;
  }
  void ExclusiveSum(T value, T& result) {
    InclusiveSum(value, result);
    result = result - value;
  }

 private:
  TempStorage& storage_;
};

}  // namespace cub
