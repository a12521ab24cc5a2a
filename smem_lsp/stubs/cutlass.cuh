// CUTLASS: cutlass/arch/barrier.h.

namespace cutlass {
namespace arch {
class [[smem::model(named_barrier)]] NamedBarrier {
  static void sync(unsigned threads, unsigned number);
  static void arrive(unsigned threads, unsigned number);
  void arrive_and_wait();
};
}
}
