// Asynchronous copies: each lands where it is issued or where it is waited for, by a coin. What it writes is the deed of
// an agent of its own, so that whoever reads it, or writes there, before the wait races with it.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "../headers/smem/device.h"
#include "runtime.h"

namespace smem {

namespace {

struct Copy {
  char* target;
  const char* source;
  size_t bytes, source_bytes;
  uint32_t time;         // of the agent
  const void* object;    // it completes with, or null
};

struct Queue {
  std::vector<Copy> on_the_way;
  std::vector<uint32_t> groups;  // committed and not waited for: time of the agent, oldest first
  std::vector<std::pair<const void*, uint32_t>> bound;  // barrier object, time of the agent
};

Queue queues[max_threads];

unsigned agent_of(unsigned thread) { return max_threads + thread; }

void land(const Copy& copy) {
  memcpy(copy.target, copy.source, copy.source_bytes);
  memset(copy.target + copy.source_bytes, 0, copy.bytes - copy.source_bytes);
}

template <class Test>
void land_if(Queue& queue, Test test) {
  auto& copies = queue.on_the_way;
  for (const Copy& copy : copies)
    if (test(copy)) land(copy);
  copies.erase(std::remove_if(copies.begin(), copies.end(), test), copies.end());
}

}  // namespace

void start_copies() {
  for (unsigned t = 0; t < machine.threads; ++t) {
    queues[t].on_the_way.clear();
    queues[t].groups.clear();
    queues[t].bound.clear();
  }
}

void async_copy(void* target, const void* source, size_t bytes, size_t source_bytes, bool aligned, const void* place) {
  const uint32_t pc = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(place));
  const unsigned thread = machine.current;
  const uintptr_t to = reinterpret_cast<uintptr_t>(target), from = reinterpret_cast<uintptr_t>(source);
  const uintptr_t offset = to - reinterpret_cast<uintptr_t>(arena());
  const char* wrong = nullptr;
  if (source_bytes > bytes || offset >= arena_bytes() || !in_shared(static_cast<uint32_t>(offset), bytes) ||
      (source_bytes != 0 && !global_access(from, source_bytes, false)))
    wrong = "out of bounds";
  else if (aligned && (to % bytes != 0 || from % bytes != 0))
    wrong = "misaligned";
  if (wrong != nullptr) {
    trap(wrong, pc, Where::shared, offset, bytes);
    stop_thread();
  }
  const Copy copy{static_cast<char*>(target), static_cast<const char*>(source), bytes, source_bytes,
                  time_of(agent_of(thread)), nullptr};
  touch(static_cast<uint32_t>(offset), bytes, Kind::write, agent_of(thread), thread, pc);
  if (machine.request.banks && aligned) count_banks(static_cast<uint32_t>(offset), bytes, true, thread, pc);
  if (machine.random.below(2) != 0)
    land(copy);
  else
    queues[thread].on_the_way.push_back(copy);
}

void async_commit() {
  queues[machine.current].groups.push_back(time_of(agent_of(machine.current)));
  advance(agent_of(machine.current));
}

void async_wait(unsigned groups_left) {
  Queue& queue = queues[machine.current];
  if (queue.groups.size() <= groups_left) return;
  const auto end = queue.groups.end() - groups_left;
  const uint32_t time = *(end - 1);
  queue.groups.erase(queue.groups.begin(), end);
  land_if(queue, [&](const Copy& copy) { return copy.time <= time; });
  learn(machine.current, agent_of(machine.current), time);
}

void async_wait_all() {
  async_commit();
  async_wait(0);
}

void land_all(unsigned thread) {
  land_if(queues[thread], [](const Copy&) { return true; });
}

void object_bind(void* object) {
  Queue& queue = queues[machine.current];
  for (Copy& copy : queue.on_the_way)
    if (copy.object == nullptr) copy.object = object;
  queue.bound.emplace_back(object, time_of(agent_of(machine.current)));
  advance(agent_of(machine.current));
}

void bind_copies(unsigned thread, const void* object, Clock& clock) {
  auto& bound = queues[thread].bound;
  for (const auto& [to, time] : bound)
    if (to == object) clock.raise(agent_of(thread), time);
  bound.erase(std::remove_if(bound.begin(), bound.end(), [&](const auto& each) { return each.first == object; }),
              bound.end());
}

void land_bound(const void* object) {
  for (unsigned t = 0; t < machine.threads; ++t)
    land_if(queues[t], [&](const Copy& copy) { return copy.object == object; });
}

}  // namespace smem
