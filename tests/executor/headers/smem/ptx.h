// The PTX instructions that ../../ptx.py turns into calls.
#pragma once

#include "intrinsics.h"

namespace smem::ptx {

SMEM_CALL void barrier_sync(unsigned id, unsigned threads = 0) {
  if (id == 0 && threads == 0)
    block_barrier(Count::none, 0, SMEM_PLACE);
  else
    named_barrier(id, threads, true, SMEM_PLACE);
}
SMEM_CALL void barrier_arrive(unsigned id, unsigned threads) { named_barrier(id, threads, false, SMEM_PLACE); }
SMEM_CALL void cp_async(uint32_t target, const void* source, unsigned bytes) {
  async_copy(shared_pointer(target), source, bytes, bytes, true, SMEM_PLACE);
}
SMEM_CALL void cp_async(uint32_t target, const void* source, unsigned bytes, unsigned source_bytes) {
  async_copy(shared_pointer(target), source, bytes, source_bytes, true, SMEM_PLACE);
}
inline void cp_async_commit_group() { async_commit(); }
inline void cp_async_wait_group(unsigned groups) { async_wait(groups); }
inline void cp_async_wait_all() { async_wait_all(); }
template <bool Transposed, class... Registers>
SMEM_CALL void ldmatrix(uint32_t row, Registers&... registers) {
  uint32_t loaded[sizeof...(Registers)];
  load_matrices(row, sizeof...(Registers), Transposed, loaded, SMEM_PLACE);
  const uint32_t* next = loaded;
  ((registers = static_cast<Registers>(*next++)), ...);
}
template <bool Transposed, class... Registers>
SMEM_CALL void stmatrix(uint32_t row, Registers... registers) {
  const uint32_t stored[] = {static_cast<uint32_t>(registers)...};
  store_matrices(row, sizeof...(Registers), Transposed, stored, SMEM_PLACE);
}

}  // namespace smem::ptx
