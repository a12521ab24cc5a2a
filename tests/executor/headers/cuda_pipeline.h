// Stands in for CUDA's header of this name.
#pragma once

#include "smem/intrinsics.h"

SMEM_CALL void __pipeline_memcpy_async(void* target, const void* source, size_t bytes, size_t zeros = 0) {
  smem::async_copy(target, source, bytes, bytes - zeros, true, SMEM_PLACE);
}
inline void __pipeline_commit() { smem::async_commit(); }
inline void __pipeline_wait_prior(size_t groups) { smem::async_wait(static_cast<unsigned>(groups)); }
