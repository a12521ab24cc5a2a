// The shadow of shared memory: who touched each byte since its last write, and whether the next one is ordered behind.
//
// A cell stands for an aligned word until something touches a part of it, then for one byte. It keeps the last write and
// up to four reads and atomic accesses that none of the others is ordered behind; of more than four a random choice.
// With more than four unordered readers of a byte, and synchronisation of less than the block, a race may be missed;
// another seed chooses others; so may the race of a write that another one has overwritten. Where every pair is asked for,
// all accesses of a block are kept and nothing is missed. Atomic accesses do not race with each other and order nothing: threads that synchronise by
// atomics and fences alone are reported.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <tuple>

#include "runtime.h"

extern "C" thread_local char smem_arena[];
extern "C" const uint32_t smem_arena_bytes;

namespace smem {

namespace {

struct Touch {
  uint32_t time, pc;
  uint16_t agent;
  Kind kind;
};

constexpr unsigned slots = 4;

struct Cell {
  uint32_t block;
  bool filled;  // written by this block
  uint8_t others;
  Touch write;
  Touch other[slots];
};

struct Race {
  uint64_t count = 0;
  uint32_t offset = 0, block = 0;
  unsigned first = 0, second = 0;
};

// Pages that nobody touches cost nothing.
Cell* words;
Cell* bytes;
std::vector<bool> split, valid;
std::vector<std::vector<Touch>> histories;  // of each byte in this block; empty unless every pair is asked for
std::vector<Region> regions;
std::map<std::tuple<uint32_t, Kind, uint32_t, Kind>, Race> races;

struct Uninitialised {
  uint64_t count = 0;
  uint32_t offset = 0;
  unsigned thread = 0;
};
std::map<uint32_t, Uninitialised> uninitialised;

void report(const Touch& before, const Touch& after, uint32_t offset) {
  Race& race = races[{before.pc, before.kind, after.pc, after.kind}];
  if (race.count++ == 0) race = {1, offset, machine.block, before.agent, after.agent};
}

void insert(Cell& cell, const Touch& touch, unsigned thread) {
  unsigned kept = 0;
  for (unsigned i = 0; i < cell.others; ++i) {
    // What conflicts with an access that is ordered before this one conflicts with this one, too.
    const Touch& old = cell.other[i];
    bool covered = old.kind == touch.kind && ordered_before(old.agent, old.time, thread);
    if (!covered) cell.other[kept++] = old;
  }
  if (kept < slots)
    cell.other[kept++] = touch;
  else
    cell.other[machine.samples.below(slots)] = touch;
  cell.others = static_cast<uint8_t>(kept);
}

void touch_cell(Cell& cell, const Touch& now, unsigned thread, uint32_t offset) {
  if (cell.block != machine.block) {
    cell = Cell{};
    cell.block = machine.block;
  }
  if (cell.write.time != 0 && !ordered_before(cell.write.agent, cell.write.time, thread)) report(cell.write, now, offset);
  for (unsigned i = 0; i < cell.others; ++i) {
    const Touch& old = cell.other[i];
    if (old.kind == now.kind && now.kind != Kind::write) continue;
    if (!ordered_before(old.agent, old.time, thread)) report(old, now, offset);
  }
  if (now.kind != Kind::write && !cell.filled) {
    Uninitialised& found = uninitialised[now.pc];
    if (found.count++ == 0) found = {1, offset, thread};
  }
  if (now.kind != Kind::read) cell.filled = true;
  if (now.kind == Kind::write) {
    cell.write = now;
    cell.others = 0;
  } else {
    insert(cell, now, thread);
  }
}

void touch_history(std::vector<Touch>& history, const Touch& now, unsigned thread, uint32_t offset) {
  Touch* same = nullptr;  // what races with an earlier one of the same place and thread races with the latest, too
  for (Touch& old : history) {
    if (old.agent == now.agent && old.pc == now.pc && old.kind == now.kind) same = &old;
    if (old.kind == now.kind && now.kind != Kind::write) continue;
    if (!ordered_before(old.agent, old.time, thread)) report(old, now, offset);
  }
  if (same != nullptr)
    *same = now;
  else
    history.push_back(now);
}

const char* word(Kind kind) { return kind == Kind::read ? "read" : kind == Kind::write ? "write" : "atomic"; }

void mark(const Region& region, bool value) {
  std::fill(valid.begin() + region.begin, valid.begin() + region.begin + region.size, value);
}

}  // namespace

char* arena() { return smem_arena; }
uint32_t arena_bytes() { return smem_arena_bytes; }

void open_arena(const Request& request) {
  words = static_cast<Cell*>(calloc(smem_arena_bytes / 4 + 1, sizeof(Cell)));
  bytes = static_cast<Cell*>(calloc(smem_arena_bytes + 4, sizeof(Cell)));
  split.assign(smem_arena_bytes / 4 + 1, false);
  valid.assign(smem_arena_bytes, false);
  for (const Region& region : request.statics) mark(region, true);
  if (request.pairs) histories.resize(smem_arena_bytes);
}

void start_block_memory(uint32_t dynamic_bytes, Random& random) {
  for (const Region& region : regions) mark(region, false);
  regions = machine.request.statics;
  regions.push_back({machine.request.dynamic_base, dynamic_bytes});
  for (const Region& region : regions) mark(region, true);
  // Not-a-number as float, double and half, so that what was never written shows in every result.
  const int pattern = random.below(2) ? 0xFF : 0x7F;
  for (const Region& region : regions) memset(smem_arena + region.begin, pattern, region.size);
  std::fill(split.begin(), split.end(), false);
  for (std::vector<Touch>& each : histories) each.clear();
}

bool in_shared(uint32_t offset, size_t size) {
  return size <= smem_arena_bytes - offset && valid[offset] && valid[offset + size - 1];
}

void touch(uint32_t offset, size_t size, Kind kind, unsigned agent, unsigned thread, uint32_t pc) {
  const Touch now{time_of(agent), pc, static_cast<uint16_t>(agent), kind};
  if (!histories.empty())
    for (size_t i = 0; i < size; ++i) touch_history(histories[offset + i], now, thread, offset + static_cast<uint32_t>(i));
  for (uint32_t at = offset, end = offset + static_cast<uint32_t>(size); at < end;) {
    const uint32_t index = at / 4;
    const bool whole = at % 4 == 0 && at + 4 <= end;
    if (whole && !split[index]) {
      touch_cell(words[index], now, thread, at);
      at += 4;
      continue;
    }
    if (!split[index]) {
      std::fill_n(bytes + 4 * index, 4, words[index]);
      split[index] = true;
    }
    touch_cell(bytes[at], now, thread, at);
    ++at;
  }
}

std::string written_races() {
  std::string text;
  for (const auto& [key, race] : races) {
    const auto& [first_pc, first_kind, second_pc, second_kind] = key;
    char line[256];
    snprintf(line, sizeof line, "%s[%u,%u,%llu,[\"%s\",%u,%u],[\"%s\",%u,%u]]", text.empty() ? "" : ",", race.offset,
             race.block, static_cast<unsigned long long>(race.count), word(first_kind), race.first, first_pc,
             word(second_kind), race.second, second_pc);
    text += line;
  }
  return text;
}

std::string written_uninitialised() {
  std::string text;
  for (const auto& [pc, found] : uninitialised) {
    char line[128];
    snprintf(line, sizeof line, "%s[%u,%u,%u,%llu]", text.empty() ? "" : ",", pc, found.thread, found.offset,
             static_cast<unsigned long long>(found.count));
    text += line;
  }
  return text;
}

}  // namespace smem
