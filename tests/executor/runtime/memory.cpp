// Global memory, and the calls that `g++ -fsanitize=thread` makes before every access of a kernel.
#include <cstdlib>
#include <cstring>

#include "../headers/smem/device.h"
#include "runtime.h"

extern "C" char __executable_start[];
extern "C" char _end[];

namespace smem {

std::vector<Allocation>& allocations() {
  static std::vector<Allocation> all;
  return all;
}

void* allocate(size_t bytes) {
  // Not on the heap of the program: an address next to it belongs to nobody.
  char* begin = static_cast<char*>(aligned_alloc(256, (bytes + 511) / 256 * 256));
  memset(begin, 0xAB, bytes);
  allocations().push_back({begin, bytes});
  return begin;
}

void release(void* pointer) {
  for (Allocation& each : allocations())
    if (each.begin == pointer) each.size = 0;
}

size_t allocated(const void* pointer) {
  for (const Allocation& each : allocations())
    if (each.begin == pointer) return each.size;
  return 0;
}

bool global_access(uintptr_t address, size_t bytes, bool write) {
  std::vector<Allocation>& all = allocations();
  for (auto each = all.rbegin(); each != all.rend(); ++each) {  // the newest are those of this launch
    const uintptr_t from = reinterpret_cast<uintptr_t>(each->begin);
    if (address < from || address + bytes > from + each->size) continue;
    each->written |= write;
    return true;
  }
  const bool of_program = address >= reinterpret_cast<uintptr_t>(__executable_start) &&
                          address + bytes <= reinterpret_cast<uintptr_t>(_end);
  return of_program || (!write && on_host_stack(address));  // kernel arguments
}

namespace {

uint64_t mixed(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15ull;
  return hash ^ hash >> 29;
}

// Where a pointer points, or nothing for one into shared memory or the program: the same for two programs that do the
// same. Any other number as it is.
uint64_t without_address(uint64_t value) {
  if (value - reinterpret_cast<uintptr_t>(arena()) < arena_bytes()) return 0;
  if (value >= reinterpret_cast<uintptr_t>(__executable_start) && value < reinterpret_cast<uintptr_t>(_end)) return 0;
  const std::vector<Allocation>& all = allocations();
  for (size_t i = 0; i < all.size(); ++i)
    if (value - reinterpret_cast<uintptr_t>(all[i].begin) < all[i].size)
      return (i + 1) << 32 | (value - reinterpret_cast<uintptr_t>(all[i].begin));
  return value;
}

}  // namespace

void note_read(const char* at, size_t bytes) {
  uint64_t& hash = fibers[machine.current].read;
  while (bytes != 0) {
    const size_t piece = bytes < 8 ? bytes : 8;
    uint64_t value = 0;
    memcpy(&value, at, piece);
    hash = mixed(hash, piece == 8 ? without_address(value) : value);
    at += piece;
    bytes -= piece;
  }
}

void end_reads_of(unsigned thread) {
  const Index3& block = machine.block_index;
  const uint64_t who = machine.launches << 32 ^ uint64_t{block.z} << 42 ^ uint64_t{block.y} << 21 ^ block.x;
  machine.read += mixed(mixed(fibers[thread].read, who), thread);
}

void plain_access(const void* address, size_t bytes, size_t align, bool write, const void* place) {
  access(address, bytes, write ? Kind::write : Kind::read, align == bytes && bytes <= 16,
         static_cast<uint32_t>(reinterpret_cast<uintptr_t>(place)));
}

void atomic_access(const void* address, size_t bytes, const void* place) {
  access(address, bytes, Kind::atomic, true, static_cast<uint32_t>(reinterpret_cast<uintptr_t>(place)));
}

uint32_t shared_offset(const void* pointer) {
  return static_cast<uint32_t>(static_cast<const char*>(pointer) - arena());
}

void* shared_pointer(uint32_t offset) { return arena() + offset; }

}  // namespace smem

#define PLACE static_cast<uint32_t>(reinterpret_cast<uintptr_t>(__builtin_return_address(0)))

#define HOOKS(bytes)                                                                                       \
  void __tsan_read##bytes(void* p) { smem::access(p, bytes, smem::Kind::read, true, PLACE); }              \
  void __tsan_write##bytes(void* p) { smem::access(p, bytes, smem::Kind::write, true, PLACE); }            \
  void __tsan_unaligned_read##bytes(void* p) { smem::access(p, bytes, smem::Kind::read, false, PLACE); }   \
  void __tsan_unaligned_write##bytes(void* p) { smem::access(p, bytes, smem::Kind::write, false, PLACE); }

extern "C" {
void __tsan_init() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)
void __tsan_read_range(void* p, size_t n) { smem::access(p, n, smem::Kind::read, false, PLACE); }
void __tsan_write_range(void* p, size_t n) { smem::access(p, n, smem::Kind::write, false, PLACE); }

// Calls of memcpy and its like in a program come here; the compiler puts no hook before them.
void* smem_memcpy(void* to, const void* from, size_t n) {
  if (n != 0) smem::access(from, n, smem::Kind::read, false, PLACE);
  if (n != 0) smem::access(to, n, smem::Kind::write, false, PLACE);
  return memcpy(to, from, n);
}

void* smem_memmove(void* to, const void* from, size_t n) {
  if (n != 0) smem::access(from, n, smem::Kind::read, false, PLACE);
  if (n != 0) smem::access(to, n, smem::Kind::write, false, PLACE);
  return memmove(to, from, n);
}

void* smem_memset(void* to, int value, size_t n) {
  if (n != 0) smem::access(to, n, smem::Kind::write, false, PLACE);
  return memset(to, value, n);
}
}
