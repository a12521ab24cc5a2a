// What the parts of the runtime know of each other. Nothing here is seen by a kernel; see ../headers/smem/device.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace smem {

constexpr unsigned max_threads = 1024;
constexpr unsigned lanes = 32;

struct Index3 {
  unsigned x, y, z;
};

// Seeded, and the same on every machine (xorshift64*).
class Random {
 public:
  void seed(uint64_t value);
  uint32_t next();
  uint32_t below(uint32_t bound) { return next() % bound; }
  bool one_in(uint32_t n) { return n != 0 && below(n) == 0; }

 private:
  uint64_t state_ = 1;
};

// ---- request ------------------------------------------------------------------------------------------------------

struct Region {
  uint32_t begin, size;  // bytes of the arena
};

struct Request {
  unsigned program = 0;
  uint64_t seed = 0;
  bool banks = false, pairs = false;
  uint64_t budget = 0;        // accesses of one run
  uint32_t dynamic_base = 0;  // byte of the arena at which `extern __shared__` arrays begin
  std::vector<Region> statics;
};

// ---- happens-before (clocks.cpp) ------------------------------------------------------------------------------------

// An agent is a thread of the block (0 to n-1) or the asynchronous copies of one (max_threads + thread).
constexpr unsigned agents = 2 * max_threads;

class Clock {
 public:
  void raise(unsigned agent, uint32_t time);
  void merge(const Clock& other);
  void clear();
  uint32_t at(unsigned agent) const { return times_.empty() ? 0 : times_[agent]; }
  const std::vector<uint16_t>& known() const { return known_; }

 private:
  std::vector<uint32_t> times_;
  std::vector<uint16_t> known_;
};

void start_clocks(unsigned threads);
uint32_t time_of(unsigned agent);
void advance(unsigned agent);
// Whether what `agent` did at `time` is ordered before what `thread` does now.
bool ordered_before(unsigned agent, uint32_t time, unsigned thread);
void order_everything();                        // a block barrier
void release_to(unsigned thread, Clock& clock);  // what `thread` did so far is in `clock`
void acquire_from(unsigned thread, const Clock& clock);
void learn(unsigned thread, unsigned agent, uint32_t time);

// ---- accesses (shadow.cpp, banks.cpp, memory.cpp) -------------------------------------------------------------------

enum class Kind : uint8_t { read, write, atomic };

char* arena();
uint32_t arena_bytes();
void open_arena(const Request& request);
void start_block_memory(uint32_t dynamic_bytes, Random& random);  // poisons, and forgets who touched what
bool in_shared(uint32_t offset, size_t bytes);
void touch(uint32_t offset, size_t bytes, Kind kind, unsigned agent, unsigned thread, uint32_t pc);
std::string written_races();
std::string written_uninitialised();

void count_banks(uint32_t offset, size_t bytes, bool whole, unsigned thread, uint32_t pc);
void end_banks_of_block();
std::string written_banks();

struct Allocation {
  char* begin;
  size_t size;
  bool written = false;  // by a kernel
};
std::vector<Allocation>& allocations();
bool global_access(uintptr_t address, size_t bytes, bool write);
// One access of the running thread: traps, races, banks, a point where another thread may go on.
void access(const void* address, size_t bytes, Kind kind, bool aligned, uint32_t pc);
void note_read(const char* at, size_t bytes);  // by the running thread, from shared memory
void end_reads_of(unsigned thread);            // it has come to its end

// ---- threads (fibers.cpp) -------------------------------------------------------------------------------------------

enum class State : uint8_t { ready, block, named, warp, object, exited };

struct Fiber {
  void* stack_pointer;
  State state;
  Index3 index;
  uint32_t pc;         // where it waits
  int predicate;       // brought to a block barrier
  int result;          // of a block barrier that counts
  uint32_t operation;  // of the warp: only equal ones meet
  uint32_t mask;
  uint64_t deposit;            // brought to a warp operation
  uint64_t received[lanes];    // what the lanes of the mask brought
  uint32_t partners;           // lanes that have brought it
  const void* object;          // of a barrier object
  uint32_t named;              // id of a named barrier
  bool queued;                 // it will run without being asked again
  uint64_t read;               // hash of all that it read from shared memory, in order
};

struct Machine {
  bool running = false;   // a kernel is
  bool stopped = false;   // by a trap or a deadlock: nothing else is launched
  unsigned threads = 0;   // of a block
  unsigned current = 0;
  uint32_t preempt = 0;   // an access in this many lets another thread go on; 0: none does
  uint64_t accesses = 0, switches = 0, barriers = 0, launches = 0;
  uint64_t schedule = 1469598103934665603ull;  // hash of who ran when
  uint64_t read = 0;      // hash of what each thread read from shared memory, whatever the order of the threads
  uint32_t block = 0;     // serial number of the block, from 1
  Index3 block_index{};
  Random random;          // of the schedule
  Random samples;         // of everything else
  Request request;
};
extern Machine machine;
extern Fiber fibers[max_threads];

struct Stacks {
  uintptr_t begin, each;
};
Stacks stacks();
bool on_host_stack(uintptr_t address);

void start_machine(const Request& request);
void wait(State state, uint32_t pc);  // until someone calls make_ready
void make_ready(unsigned thread);
void yield();                         // another one may go on
[[noreturn]] void stop_thread();      // after a trap: this fiber never runs again
enum class Where { shared, global, nowhere };
// `address`: byte of the arena, address in global memory, or what the kind says.
void trap(const char* kind, uint32_t pc, Where where, uint64_t address, uint64_t bytes);
unsigned live_lanes(unsigned warp);

// ---- meetings (barriers.cpp, copies.cpp) ----------------------------------------------------------------------------

void start_meetings();
void thread_has_exited(unsigned thread);  // others may have waited for nobody else
void report_deadlock();
std::string written_divergence();
std::string written_scattered();
std::string written_abandoned();
std::string written_deadlock();

void start_copies();
void land_all(unsigned thread);
// What `thread` has copied asynchronously so far completes with the phase of a barrier object.
void bind_copies(unsigned thread, const void* object, Clock& clock);
void land_bound(const void* object);

// ---- report (report.cpp) --------------------------------------------------------------------------------------------

struct Trap {
  std::string kind;
  uint32_t pc = 0;
  unsigned thread = 0;
  uint64_t address = 0, bytes = 0;
  bool shared = false;
};
extern Trap the_trap;
std::string written_report();

}  // namespace smem
