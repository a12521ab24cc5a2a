"""Functions around bulk copies and words of ``mbarrier``, as kernels write them, for texts of tests."""

HEAD = r"""
#include <cstdint>
#include <utility>
#include <cuda/barrier>
#include <cuda/ptx>
namespace ptx = cuda::ptx;
namespace dev = cuda::device;
using object = cuda::barrier<cuda::thread_scope_block>;
__device__ inline uint32_t shared_of(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
__device__ inline void prepare(uint64_t* bar, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_of(bar)), "r"(count));
}
__device__ inline void expect(uint64_t* bar, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_of(bar)), "r"(bytes) : "memory");
}
__device__ inline void pending(uint64_t* bar, int bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(shared_of(bar)), "r"(bytes) : "memory");
}
__device__ inline void arrive(uint64_t* bar) {
  asm volatile("{ .reg .b64 s; mbarrier.arrive.shared::cta.b64 s, [%0]; }" ::"r"(shared_of(bar)) : "memory");
}
__device__ inline void await(uint64_t* bar, uint32_t phase) {
  asm volatile("{\n.reg .pred P1;\nW_%=:\nmbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n@P1 bra D_%=;\n"
               "bra.uni W_%=;\nD_%=:\n}\n" ::"r"(shared_of(bar)), "r"(phase) : "memory");
}
__device__ inline void until(uint64_t* bar, uint32_t phase) {
  asm volatile("{\n.reg .pred P1;\nW_%=:\nmbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n@!P1 bra W_%=;\n}\n"
               ::"r"(shared_of(bar)), "r"(phase) : "memory");
}
__device__ inline bool over(uint64_t* bar, uint32_t phase) {
  uint32_t yes;
  asm volatile("{\n.reg .pred P1;\nmbarrier.try_wait.parity.shared::cta.b64 P1, [%1], %2;\nselp.b32 %0, 1, 0, P1;\n}\n"
               : "=r"(yes) : "r"(shared_of(bar)), "r"(phase) : "memory");
  return yes != 0;
}
__device__ inline void load(void* to, const void* from, int bytes, uint64_t* bar) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               ::"r"(shared_of(to)), "l"(from), "r"(bytes), "r"(shared_of(bar)) : "memory");
}
__device__ inline void store(void* to, const void* from, int bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
               ::"l"(to), "r"(shared_of(from)), "r"(bytes) : "memory");
}
__device__ inline void commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int N>
__device__ inline void done() { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory"); }
__device__ inline void fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
"""
