// Stands in for CUDA's header of this name: the thread block, tiles of a warp, and asynchronous copies of a group.
#pragma once

#include <type_traits>

#include "smem/intrinsics.h"
#include "smem/types.h"

namespace cooperative_groups {

struct thread_block {
  SMEM_CALL static void sync() { smem::block_barrier(smem::Count::none, 0, SMEM_PLACE); }
  static unsigned thread_rank() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
  static unsigned num_threads() { return blockDim.x * blockDim.y * blockDim.z; }
  static unsigned size() { return num_threads(); }
  static dim3 group_index() { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
  static dim3 thread_index() { return {threadIdx.x, threadIdx.y, threadIdx.z}; }
  static dim3 group_dim() { return blockDim; }
};

inline thread_block this_thread_block() { return {}; }

template <unsigned Size>
struct thread_block_tile {
  static_assert(Size <= 32 && (Size & (Size - 1)) == 0, "a tile is a part of a warp");

  static unsigned mask() {
    const unsigned first = smem::lane() / Size * Size;
    return static_cast<unsigned>((uint64_t{1} << Size) - 1) << first;
  }
  SMEM_CALL void sync() const { smem::warp_barrier(mask(), SMEM_PLACE); }
  unsigned thread_rank() const { return smem::lane() % Size; }
  static constexpr unsigned num_threads() { return Size; }
  static constexpr unsigned size() { return Size; }
  unsigned meta_group_rank() const { return thread_block::thread_rank() / Size; }
  unsigned meta_group_size() const { return (thread_block::num_threads() + Size - 1) / Size; }
  template <class T>
  SMEM_CALL T shfl(T value, unsigned from) const {
    return smem::shuffled(mask(), value, smem::lane() / Size * Size + from % Size, true, SMEM_PLACE);
  }
  template <class T>
  SMEM_CALL T shfl_down(T value, unsigned by) const {
    return smem::shuffled(mask(), value, smem::lane() + by, thread_rank() + by < Size, SMEM_PLACE);
  }
  template <class T>
  SMEM_CALL T shfl_up(T value, unsigned by) const {
    return smem::shuffled(mask(), value, smem::lane() - by, thread_rank() >= by, SMEM_PLACE);
  }
  template <class T>
  SMEM_CALL T shfl_xor(T value, unsigned by) const {
    return smem::shuffled(mask(), value, smem::lane() ^ by, by < Size, SMEM_PLACE);
  }
  SMEM_CALL bool any(int p) const { return smem::voted(mask(), p, SMEM_PLACE) != 0; }
  SMEM_CALL bool all(int p) const { return smem::voted(mask(), !p, SMEM_PLACE) == 0; }
};

template <unsigned Size>
thread_block_tile<Size> tiled_partition(const thread_block&) {
  return {};
}

template <class Group>
SMEM_CALL void sync(const Group& group) {
  if constexpr (std::is_same_v<Group, thread_block>)
    smem::block_barrier(smem::Count::none, 0, SMEM_PLACE);
  else
    smem::warp_barrier(group.mask(), SMEM_PLACE);
}

// Each thread copies its share, in pieces of 4 bytes; wait is the wait of the thread and a barrier of the group.
template <class Group, class T>
SMEM_CALL void memcpy_async(const Group& group, T* target, const T* source, size_t bytes) {
  for (size_t at = group.thread_rank() * 4; at < bytes; at += group.num_threads() * 4)
    smem::async_copy(reinterpret_cast<char*>(target) + at, reinterpret_cast<const char*>(source) + at,
                     bytes - at < 4 ? bytes - at : 4, bytes - at < 4 ? bytes - at : 4, false, SMEM_PLACE);
  smem::async_commit();
}
template <class Group>
SMEM_CALL void wait(const Group& group) {
  smem::async_wait(0);
  if constexpr (std::is_same_v<Group, thread_block>)
    smem::block_barrier(smem::Count::none, 0, SMEM_PLACE);
  else
    smem::warp_barrier(group.mask(), SMEM_PLACE);
}
template <unsigned Left, class Group>
SMEM_CALL void wait_prior(const Group& group) {
  smem::async_wait(Left);
  if constexpr (std::is_same_v<Group, thread_block>)
    smem::block_barrier(smem::Count::none, 0, SMEM_PLACE);
  else
    smem::warp_barrier(group.mask(), SMEM_PLACE);
}

}  // namespace cooperative_groups
