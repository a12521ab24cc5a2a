// What a kernel asks of the runtime. The headers beside this one say it in the words of CUDA.
#pragma once

#include <cstddef>
#include <cstdint>

namespace smem {

struct Shape {
  unsigned x, y, z;
};

// Runs function(context) in every thread of every block. Nothing happens after a trap.
void launch(Shape grid, Shape block, size_t dynamic_bytes, void (*function)(void*), void* context);

// ---- the current thread -------------------------------------------------------------------------------------------

unsigned lane();
unsigned active_lanes();  // of the warp: those that have not exited

// ---- barriers; `place` is the return address to report -------------------------------------------------------------

enum class Count { none, sum, any, all };
int block_barrier(Count count, int predicate, const void* place);
// bar.sync and bar.arrive: `threads` is 0 for all of the block.
void named_barrier(unsigned id, unsigned threads, bool wait, const void* place);
void warp_barrier(unsigned mask, const void* place);

// The values of all 32 lanes, 0 for those that did not take part.
struct Exchanged {
  const uint64_t* values;
  unsigned lanes;
};
// Brings `value` to the other lanes of `mask`. Orders no memory.
Exchanged warp_exchange(unsigned operation, unsigned mask, uint64_t value, const void* place);

// Objects of class cuda::barrier.
void object_init(void* object, int expected, const void* place);
uint64_t object_arrive(void* object, int count, bool drop, const void* place);
void object_wait(void* object, uint64_t phase, const void* place);
// The asynchronous copies of this thread complete with the current phase of the object.
void object_bind(void* object);

// ---- memory ---------------------------------------------------------------------------------------------------------

// As the hooks of g++: of a structure that is aligned to its size, all bytes at once.
void plain_access(const void* address, size_t bytes, size_t align, bool write, const void* place);
void atomic_access(const void* address, size_t bytes, const void* place);

// cp.async of `bytes` (4, 8, 16; any number where `aligned` is false), of which `source_bytes` are read and the rest 0.
void async_copy(void* target, const void* source, size_t bytes, size_t source_bytes, bool aligned, const void* place);
void async_commit();
void async_wait(unsigned groups_left);  // up to that many of the newest groups may still be on their way
void async_wait_all();

// ldmatrix and stmatrix of 1, 2 or 4 matrices: lane i below 8 * matrices gives the address of row i.
void load_matrices(uint32_t row, unsigned matrices, bool transposed, uint32_t* registers, const void* place);
void store_matrices(uint32_t row, unsigned matrices, bool transposed, const uint32_t* registers, const void* place);

// The address of a shared object as cvta.to.shared gives it, and back.
uint32_t shared_offset(const void* pointer);
void* shared_pointer(uint32_t offset);

// ---- host -----------------------------------------------------------------------------------------------------------

void* allocate(size_t bytes);
void release(void* pointer);
size_t allocated(const void* pointer);

}  // namespace smem
