// CUB with the three functions that it had until CUDA 13 took them out: ours, for reading only.
#pragma once

#include_next <cub/cub.cuh>
#include <cuda/std/functional>

namespace cub {

using Sum = ::cuda::std::plus<>;
using Max = ::cuda::maximum<>;
using Min = ::cuda::minimum<>;

}  // namespace cub
