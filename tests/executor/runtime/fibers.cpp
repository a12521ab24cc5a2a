// One fiber per thread of a block, blocks one after the other, and the schedule: who runs next is drawn from the seed.
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "../headers/smem/device.h"
#include "runtime.h"

#ifndef __x86_64__
#error "the switch between fibers is written for x86-64"
#endif

// Named without const here: only the runtime changes them.
extern smem::Index3 thread_index asm("threadIdx");
extern smem::Index3 block_index asm("blockIdx");
extern smem::Index3 block_dimensions asm("blockDim");
extern smem::Index3 grid_dimensions asm("gridDim");
smem::Index3 thread_index, block_index, block_dimensions, grid_dimensions;

extern "C" void* __libc_stack_end;
extern "C" void smem_switch(void** save, void* resume);
asm(R"(
.text
.type smem_switch, @function
smem_switch:
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp, (%rdi)
  mov %rsi, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  ret
)");

namespace smem {

Machine machine;
Fiber fibers[max_threads];

void Random::seed(uint64_t value) {
  state_ = value * 0x9E3779B97F4A7C15ull + 0xD1B54A32D192ED03ull;
  if (state_ == 0) state_ = 1;
  for (int i = 0; i < 4; ++i) next();
}

uint32_t Random::next() {
  state_ ^= state_ >> 12;
  state_ ^= state_ << 25;
  state_ ^= state_ >> 27;
  return static_cast<uint32_t>((state_ * 0x2545F4914F6CDD1Dull) >> 32);
}

namespace {

constexpr size_t stack_bytes = 256 << 10;
constexpr uint64_t canary = 0x5AFE5AFE5AFE5AFEull;
// A thread that waits for another one by reading in a loop lets the others go on after so many accesses.
constexpr uint32_t patience = 4096;

enum class Order { any, warps, forward, backward };

char* stack_pool;
void* scheduler;
uintptr_t host_bottom;
void (*kernel)(void*);
void* kernel_context;
Order order;
uint32_t since_switch;  // accesses of the running thread
bool impatient;         // it waits for another one, it seems

char* stack_of(unsigned thread) { return stack_pool + thread * stack_bytes; }

void enter() {
  kernel(kernel_context);
  fibers[machine.current].state = State::exited;
  smem_switch(&fibers[machine.current].stack_pointer, scheduler);
  abort();
}

void prepare_fiber(unsigned thread, Index3 shape) {
  Fiber& fiber = fibers[thread];
  fiber = Fiber{};
  fiber.state = State::ready;
  fiber.index = {thread % shape.x, thread / shape.x % shape.y, thread / (shape.x * shape.y)};
  char* low = stack_of(thread);
  memcpy(low, &canary, sizeof canary);
  void** top = reinterpret_cast<void**>(low + stack_bytes);
  *--top = nullptr;  // keeps the stack of `enter` aligned as after a call
  *--top = reinterpret_cast<void*>(enter);
  for (int saved = 0; saved < 6; ++saved) *--top = nullptr;
  fiber.stack_pointer = top;
}

// Who runs next: from the back of `round`; `later` is the round after it.
std::vector<unsigned> round, later;

void draw_round() {
  std::swap(round, later);
  auto shuffle = [](auto begin, auto end) {
    for (auto size = end - begin; size > 1; --size)
      std::iter_swap(begin + size - 1, begin + machine.random.below(static_cast<uint32_t>(size)));
  };
  shuffle(round.begin(), round.end());
  if (order == Order::any) return;
  std::vector<unsigned> rank((max_threads + lanes - 1) / lanes);
  for (unsigned warp = 0; warp < rank.size(); ++warp) rank[warp] = warp;
  if (order == Order::warps) {
    shuffle(rank.begin(), rank.end());
    std::stable_sort(round.begin(), round.end(),
                     [&](unsigned a, unsigned b) { return rank[a / lanes] < rank[b / lanes]; });
  } else {
    std::sort(round.begin(), round.end());
    if (order == Order::forward) std::reverse(round.begin(), round.end());
  }
}

void queue(unsigned thread) {
  fibers[thread].queued = true;
  // In rising and falling order a thread that goes on waits for the next round, so that the order is kept.
  const bool now = order != Order::forward && order != Order::backward && machine.random.below(2) != 0;
  (now ? round : later).push_back(thread);
}

void resume(unsigned thread) {
  machine.current = thread;
  since_switch = 0;
  impatient = false;
  thread_index = fibers[thread].index;
  ++machine.switches;
  machine.schedule = (machine.schedule ^ thread) * 1099511628211ull;
  smem_switch(&scheduler, fibers[thread].stack_pointer);
  uint64_t low;
  memcpy(&low, stack_of(thread), sizeof low);
  if (low != canary && !machine.stopped) trap("stack overflow", 0, Where::nowhere, 0, stack_bytes);
}

void run_block(Index3 shape) {
  for (unsigned t = 0; t < machine.threads; ++t) prepare_fiber(t, shape);
  round.clear();
  later.clear();
  for (unsigned t = 0; t < machine.threads; ++t) later.push_back(t);
  for (unsigned left = machine.threads; left != 0 && !machine.stopped;) {
    if (round.empty()) draw_round();
    if (round.empty()) {
      report_deadlock();
      return;
    }
    const unsigned thread = round.back();
    round.pop_back();
    fibers[thread].queued = false;
    resume(thread);
    if (machine.stopped) return;
    if (fibers[thread].state == State::ready && !fibers[thread].queued) {
      impatient ? later.push_back(thread) : queue(thread);
    } else if (fibers[thread].state == State::exited) {
      --left;
      end_reads_of(thread);
      land_all(thread);
      thread_has_exited(thread);
    }
  }
}

}  // namespace

Stacks stacks() { return {reinterpret_cast<uintptr_t>(stack_pool), stack_bytes}; }

bool on_host_stack(uintptr_t address) {
  return address >= host_bottom && address < reinterpret_cast<uintptr_t>(__libc_stack_end);
}

void start_machine(const Request& request) {
  machine = Machine{};
  machine.request = request;
  machine.random.seed(request.seed);
  machine.samples.seed(~request.seed);
  order = static_cast<Order>(machine.random.below(4));
  static const uint32_t rates[] = {0, 0, 256, 16};
  machine.preempt = rates[machine.random.below(4)];
  if (stack_pool == nullptr)
    stack_pool = static_cast<char*>(mmap(nullptr, stack_bytes * max_threads, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
}

void yield() { smem_switch(&fibers[machine.current].stack_pointer, scheduler); }

void wait(State state, uint32_t pc) {
  fibers[machine.current].state = state;
  fibers[machine.current].pc = pc;
  yield();
}

void make_ready(unsigned thread) {
  fibers[thread].state = State::ready;
  queue(thread);
}

void stop_thread() {
  for (;;) yield();
}

unsigned live_lanes(unsigned warp) {
  unsigned mask = 0;
  for (unsigned lane = 0; lane < lanes && warp * lanes + lane < machine.threads; ++lane)
    if (fibers[warp * lanes + lane].state != State::exited) mask |= 1u << lane;
  return mask;
}

void access(const void* pointer, size_t bytes, Kind kind, bool aligned, uint32_t pc) {
  if (!machine.running) return;
  const uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  if (address - reinterpret_cast<uintptr_t>(stack_of(machine.current)) < stack_bytes) return;
  const uintptr_t offset = address - reinterpret_cast<uintptr_t>(arena());
  const bool shared = offset < arena_bytes();
  if (shared ? !in_shared(static_cast<uint32_t>(offset), bytes) : !global_access(address, bytes, kind != Kind::read)) {
    trap("out of bounds", pc, shared ? Where::shared : Where::global, shared ? offset : address, bytes);
    stop_thread();
  }
  if (aligned && address % bytes != 0) {
    trap("misaligned", pc, shared ? Where::shared : Where::global, shared ? offset : address, bytes);
    stop_thread();
  }
  if (++machine.accesses > machine.request.budget) {
    trap("no end", pc, Where::nowhere, 0, 0);
    stop_thread();
  }
  if (shared) {
    touch(static_cast<uint32_t>(offset), bytes, kind, machine.current, machine.current, pc);
    if (kind == Kind::read) note_read(static_cast<const char*>(pointer), bytes);
    if (machine.request.banks) count_banks(static_cast<uint32_t>(offset), bytes, aligned, machine.current, pc);
  }
  impatient = ++since_switch > patience;
  if (impatient || (shared && machine.random.one_in(machine.preempt))) yield();
}

void launch(Shape grid, Shape block, size_t dynamic_bytes, void (*function)(void*), void* context) {
  if (machine.stopped) return;
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  if (threads == 0 || threads > max_threads || uint64_t{grid.x} * grid.y * grid.z == 0 || dynamic_bytes > (227u << 10)) {
    trap("launch", 0, Where::nowhere, threads, dynamic_bytes);
    return;
  }
  char here;
  host_bottom = reinterpret_cast<uintptr_t>(&here);
  ++machine.launches;
  machine.threads = static_cast<unsigned>(threads);
  kernel = function;
  kernel_context = context;
  block_dimensions = {block.x, block.y, block.z};
  grid_dimensions = {grid.x, grid.y, grid.z};
  std::vector<Index3> blocks;
  for (unsigned z = 0; z < grid.z; ++z)
    for (unsigned y = 0; y < grid.y; ++y)
      for (unsigned x = 0; x < grid.x; ++x) blocks.push_back({x, y, z});
  for (size_t i = blocks.size(); i > 1; --i)
    std::swap(blocks[i - 1], blocks[machine.random.below(static_cast<uint32_t>(i))]);
  for (const Index3& index : blocks) {
    ++machine.block;
    machine.block_index = block_index = index;
    start_clocks(machine.threads);
    start_block_memory(static_cast<uint32_t>(dynamic_bytes), machine.samples);
    start_meetings();
    start_copies();
    machine.running = true;
    run_block(block_dimensions);
    machine.running = false;
    end_banks_of_block();
    if (machine.stopped) return;
  }
}

}  // namespace smem
