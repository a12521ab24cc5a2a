// Vector clocks. A block barrier orders everything and costs one pass over the threads; what a warp or a part of the
// block orders is kept beside it until the next block barrier.
#include <algorithm>

#include "runtime.h"

namespace smem {

namespace {
uint32_t now[agents];    // time of each agent: grows with each of its releases
uint32_t all_know[agents];  // up to this time, what an agent did is ordered before everything that follows
Clock rows[max_threads];    // what a thread knows beyond that
unsigned threads;
}  // namespace

void Clock::raise(unsigned agent, uint32_t time) {
  if (times_.empty()) times_.resize(agents);
  if (times_[agent] == 0 && time != 0) known_.push_back(static_cast<uint16_t>(agent));
  times_[agent] = std::max(times_[agent], time);
}

void Clock::merge(const Clock& other) {
  for (uint16_t agent : other.known_) raise(agent, other.times_[agent]);
}

void Clock::clear() {
  for (uint16_t agent : known_) times_[agent] = 0;
  known_.clear();
}

void start_clocks(unsigned count) {
  threads = count;
  std::fill(now, now + agents, 1);
  std::fill(all_know, all_know + agents, 0);
  for (unsigned t = 0; t < count; ++t) rows[t].clear();
}

uint32_t time_of(unsigned agent) { return now[agent]; }

void advance(unsigned agent) { ++now[agent]; }

bool ordered_before(unsigned agent, uint32_t time, unsigned thread) {
  return agent == thread || time <= all_know[agent] || time <= rows[thread].at(agent);
}

void order_everything() {
  for (unsigned t = 0; t < threads; ++t) {
    all_know[t] = now[t]++;
    for (uint16_t agent : rows[t].known()) all_know[agent] = std::max(all_know[agent], rows[t].at(agent));
    rows[t].clear();
  }
}

void release_to(unsigned thread, Clock& clock) {
  clock.merge(rows[thread]);
  clock.raise(thread, now[thread]++);
}

void acquire_from(unsigned thread, const Clock& clock) { rows[thread].merge(clock); }

void learn(unsigned thread, unsigned agent, uint32_t time) { rows[thread].raise(agent, time); }

}  // namespace smem
