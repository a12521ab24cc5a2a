// Where threads wait for each other: block barriers, named barriers, warps, barrier objects.
#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "../headers/smem/device.h"
#include "runtime.h"

namespace smem {

namespace {

constexpr unsigned named_barriers = 16;
constexpr uint32_t warp_barrier_operation = 0;

struct Named {
  unsigned expected = 0, arrived = 0;
  Clock clock;
};

// Kept beside the object: its bytes in shared memory only say that they are still those of a barrier.
struct Object {
  int expected = 0, left = 0;
  uint64_t phase = 0;
  Clock arriving, completed;
};

constexpr uint64_t object_bytes = 0xBA881E8BA881E800ull;

Count counted;
unsigned live, waiting;  // threads of the block
Named named[named_barriers];
std::map<const void*, Object> objects;
std::map<std::set<uint32_t>, bool> divergent;  // the places that met in one block barrier; whether that split a warp
std::set<std::set<uint32_t>> scattered;  // the places that met in one operation of a warp, where these are several
std::set<uint32_t> abandoned;  // operations of a warp that lanes waited in for one that then returned instead
std::map<std::tuple<State, uint32_t>, unsigned> deadlock;

uint32_t code(const void* place) { return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(place)); }

void note_divergence() {
  std::set<uint32_t> places;
  bool splits = false;
  uint32_t of_warp = 0;
  for (unsigned t = 0; t < machine.threads; ++t) {
    if (t % lanes == 0) of_warp = 0;
    if (fibers[t].state != State::block) continue;
    places.insert(fibers[t].pc);
    splits |= of_warp != 0 && of_warp != fibers[t].pc;
    of_warp = fibers[t].pc;
  }
  if (places.size() > 1) divergent[places] |= splits;
}

void try_block() {
  if (waiting == 0 || waiting != live) return;
  note_divergence();
  int sum = 0;
  for (unsigned t = 0; t < machine.threads; ++t)
    if (fibers[t].state == State::block) sum += fibers[t].predicate;
  const int all = sum == static_cast<int>(waiting);
  order_everything();
  ++machine.barriers;
  waiting = 0;
  for (unsigned t = 0; t < machine.threads; ++t) {
    if (fibers[t].state != State::block) continue;
    fibers[t].result = counted == Count::sum ? sum : counted == Count::any ? sum != 0 : all;
    make_ready(t);
  }
}

void try_named(unsigned id) {
  Named& barrier = named[id];
  if (barrier.expected == 0 || barrier.arrived < barrier.expected) return;
  for (unsigned t = 0; t < machine.threads; ++t) {
    if (fibers[t].state != State::named || fibers[t].named != id) continue;
    acquire_from(t, barrier.clock);
    make_ready(t);
  }
  barrier.expected = barrier.arrived = 0;
  barrier.clock.clear();
}

// Lets the lanes of `thread`'s mask go on when all of them wait in the same operation.
void try_warp(unsigned thread) {
  const unsigned first = thread / lanes * lanes;
  const uint32_t mask = fibers[thread].mask, operation = fibers[thread].operation;
  const uint32_t group = mask & live_lanes(thread / lanes);
  for (uint32_t left = group; left != 0; left &= left - 1) {
    const Fiber& other = fibers[first + __builtin_ctz(left)];
    if (other.state != State::warp || other.operation != operation || other.mask != mask) return;
  }
  std::set<uint32_t> places;
  for (uint32_t left = group; left != 0; left &= left - 1) places.insert(fibers[first + __builtin_ctz(left)].pc);
  if (places.size() > 1) scattered.insert(places);
  Clock all;
  for (uint32_t left = group; left != 0; left &= left - 1) {
    const unsigned t = first + __builtin_ctz(left);
    if (operation == warp_barrier_operation) release_to(t, all);
    fibers[t].partners = group;
    for (uint32_t from = group; from != 0; from &= from - 1)
      fibers[t].received[__builtin_ctz(from)] = fibers[first + __builtin_ctz(from)].deposit;
  }
  for (uint32_t left = group; left != 0; left &= left - 1) {
    const unsigned t = first + __builtin_ctz(left);
    if (operation == warp_barrier_operation) acquire_from(t, all);
    make_ready(t);
  }
}

void meet_warp(uint32_t operation, unsigned mask, uint64_t value, const void* place) {
  Fiber& fiber = fibers[machine.current];
  if ((mask >> lane() & 1) == 0) {
    trap("mask without the thread", code(place), Where::nowhere, 0, mask);
    stop_thread();
  }
  fiber.operation = operation;
  fiber.mask = mask;
  fiber.deposit = value;
  std::fill(fiber.received, fiber.received + lanes, 0);
  fiber.state = State::warp;
  fiber.pc = code(place);
  try_warp(machine.current);
  // A group that is complete with this thread may be told to go on before it has stopped: it waits its turn all the same.
  yield();
}

Object& object_at(void* address, const void* place) {
  access(address, 8, Kind::atomic, true, code(place));
  auto found = objects.find(address);
  uint64_t bytes;
  memcpy(&bytes, address, sizeof bytes);
  if (found == objects.end() || bytes != object_bytes) {
    trap("no barrier object", code(place), Where::shared, static_cast<uint64_t>(static_cast<char*>(address) - arena()), 8);
    stop_thread();
  }
  return found->second;
}

void complete_phase(const void* address, Object& object) {
  land_bound(address);
  object.completed.clear();
  object.completed.merge(object.arriving);
  object.arriving.clear();
  object.left = object.expected;
  ++object.phase;
  for (unsigned t = 0; t < machine.threads; ++t)
    if (fibers[t].state == State::object && fibers[t].object == address) make_ready(t);
}

}  // namespace

unsigned lane() { return machine.current % lanes; }

unsigned active_lanes() { return live_lanes(machine.current / lanes); }

int block_barrier(Count count, int predicate, const void* place) {
  Fiber& fiber = fibers[machine.current];
  fiber.predicate = predicate != 0;
  fiber.state = State::block;
  fiber.pc = code(place);
  counted = count;
  ++waiting;
  try_block();
  yield();
  return fiber.result;
}

void named_barrier(unsigned id, unsigned threads, bool wait_here, const void* place) {
  if (id >= named_barriers || threads % lanes != 0 || threads > machine.threads) {
    trap("named barrier", code(place), Where::nowhere, id, threads);
    stop_thread();
  }
  if (threads == 0) threads = (machine.threads + lanes - 1) / lanes * lanes;
  Named& barrier = named[id];
  if (barrier.expected != 0 && barrier.expected != threads) {
    trap("named barrier", code(place), Where::nowhere, id, threads);
    stop_thread();
  }
  barrier.expected = threads;
  ++barrier.arrived;
  release_to(machine.current, barrier.clock);
  Fiber& fiber = fibers[machine.current];
  if (wait_here) {
    fiber.state = State::named;
    fiber.named = id;
    fiber.pc = code(place);
  }
  try_named(id);
  if (wait_here) yield();
}

void warp_barrier(unsigned mask, const void* place) { meet_warp(warp_barrier_operation, mask, 0, place); }

Exchanged warp_exchange(unsigned operation, unsigned mask, uint64_t value, const void* place) {
  meet_warp(operation, mask, value, place);
  return {fibers[machine.current].received, fibers[machine.current].partners};
}

void object_init(void* address, int expected, const void* place) {
  access(address, 8, Kind::write, true, code(place));
  memcpy(address, &object_bytes, sizeof object_bytes);
  Object& object = objects[address];
  object = Object{};
  object.expected = object.left = expected;
}

uint64_t object_arrive(void* address, int count, bool drop, const void* place) {
  Object& object = object_at(address, place);
  const uint64_t phase = object.phase;
  bind_copies(machine.current, address, object.arriving);
  release_to(machine.current, object.arriving);
  object.left -= count;
  if (drop) object.expected -= count;
  if (object.left == 0) complete_phase(address, object);
  return phase;
}

void object_wait(void* address, uint64_t phase, const void* place) {
  Object* object = &object_at(address, place);
  if (object->phase <= phase) {
    fibers[machine.current].object = address;
    wait(State::object, code(place));
    object = &object_at(address, place);
  }
  acquire_from(machine.current, object->completed);
}

void start_meetings() {
  waiting = 0;
  live = machine.threads;
  for (Named& barrier : named) {
    barrier.expected = barrier.arrived = 0;
    barrier.clock.clear();
  }
  objects.clear();
}

void thread_has_exited(unsigned thread) {
  --live;
  const unsigned first = thread / lanes * lanes;
  for (unsigned other = first; other < first + lanes && other < machine.threads; ++other)
    if (fibers[other].state == State::warp) {
      if (fibers[other].mask >> (thread - first) & 1) abandoned.insert(fibers[other].pc);
      try_warp(other);
    }
  try_block();
}

void report_deadlock() {
  machine.stopped = true;
  for (unsigned t = 0; t < machine.threads; ++t)
    if (fibers[t].state != State::exited) ++deadlock[{fibers[t].state, fibers[t].pc}];
}

std::string written_divergence() {
  std::string text;
  for (const auto& [places, splits] : divergent) {
    text += text.empty() ? "[" : ",[";
    text += splits ? "true" : "false";
    for (uint32_t pc : places) text += "," + std::to_string(pc);
    text += "]";
  }
  return text;
}

std::string written_scattered() {
  std::string text;
  for (const auto& places : scattered) {
    std::string part;
    for (uint32_t pc : places) part += (part.empty() ? "[" : ",") + std::to_string(pc);
    text += (text.empty() ? "" : ",") + part + "]";
  }
  return text;
}

std::string written_abandoned() {
  std::string text;
  for (uint32_t pc : abandoned) text += (text.empty() ? "" : ",") + std::to_string(pc);
  return text;
}

std::string written_deadlock() {
  static const char* const words[] = {"ready", "block barrier", "named barrier", "warp", "barrier object", "exited"};
  std::string text;
  for (const auto& [key, count] : deadlock) {
    const auto& [state, pc] = key;
    text += (text.empty() ? "[\"" : ",[\"") + std::string(words[static_cast<int>(state)]) + "\"," + std::to_string(pc) +
            "," + std::to_string(count) + "]";
  }
  return text;
}

}  // namespace smem
