// A model of CUB's block reduction, from what its documentation promises and no more: the result is thread 0's, storage is
// free again behind a barrier, and there is no barrier at the entry nor at the end.
#pragma once

#include "../../smem/intrinsics.h"
#include "../../smem/types.h"

namespace cub {

template <class T, int Threads>
class BlockReduce {
 public:
  struct TempStorage {
    T of_warp[(Threads + 31) / 32];
  };

  explicit BlockReduce(TempStorage& storage) : storage_(storage) {}

  T Sum(T value) {
    return Reduce(value, [](T a, T b) { return a + b; });
  }
  template <class F>
  T Reduce(T value, F combine) {
    for (int by = 16; by > 0; by /= 2) {
      const T other = __shfl_down_sync(0xFFFFFFFFu, value, by);
      if (smem::lane() + by < 32) value = combine(value, other);
    }
    const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    if (thread % 32 == 0) storage_.of_warp[thread / 32] = value;
    __syncthreads();
    if (thread == 0)
      for (int warp = 1; warp < (Threads + 31) / 32; ++warp) value = combine(value, storage_.of_warp[warp]);
    return value;
  }

 private:
  TempStorage& storage_;
};

}  // namespace cub
