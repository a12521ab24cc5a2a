// Bank conflicts as the source is written: 32 banks of 4 bytes, one word per bank and wavefront, equal words broadcast.
//
// The n-th execution of one place in the code by the lanes of a warp is one instruction. 8-byte accesses go in two
// halves of the warp and 16-byte accesses in four quarters, each with wavefronts of its own.
#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "runtime.h"

namespace smem {

namespace {

struct Instruction {
  uint32_t offset[lanes];
  uint8_t bytes[lanes];
};

struct Total {
  uint64_t instructions = 0, wavefronts = 0, least = 0;
};

std::unordered_map<uint64_t, std::vector<uint32_t>> executed;              // by place: how often by each thread
std::map<std::tuple<uint64_t, unsigned, uint32_t>, Instruction> gathered;  // by place, warp, execution
std::map<uint32_t, Total> totals;

void add(uint32_t offset, uint8_t size, unsigned thread, uint64_t place) {
  auto& counts = executed[place];
  counts.resize(max_threads);
  auto [found, fresh] = gathered.try_emplace({place, thread / lanes, counts[thread]++});
  (void)fresh;
  found->second.offset[thread % lanes] = offset;
  found->second.bytes[thread % lanes] = size;
}

void settle(const Instruction& instruction, Total& total) {
  const unsigned size = *std::max_element(instruction.bytes, instruction.bytes + lanes);
  const unsigned pass = size <= 4 ? lanes : size == 8 ? lanes / 2 : lanes / 4;
  std::set<uint32_t> all;
  for (unsigned first = 0; first < lanes; first += pass) {
    std::set<uint32_t> wanted;
    for (unsigned lane = first; lane < first + pass; ++lane)
      for (unsigned byte = 0; byte < instruction.bytes[lane]; byte += 4) wanted.insert((instruction.offset[lane] + byte) / 4);
    unsigned in_bank[lanes] = {};
    unsigned most = 0;
    for (uint32_t word : wanted) most = std::max(most, ++in_bank[word % lanes]);
    total.wavefronts += most;
    all.insert(wanted.begin(), wanted.end());
  }
  total.least += (all.size() + lanes - 1) / lanes;
  ++total.instructions;
}

}  // namespace

void count_banks(uint32_t offset, size_t bytes, bool whole, unsigned thread, uint32_t pc) {
  const uint64_t place = static_cast<uint64_t>(pc) << 16;
  if (whole || bytes <= 4) {
    add(offset, static_cast<uint8_t>(bytes), thread, place);
    return;
  }
  // A structure without the alignment of a vector is read member by member.
  for (size_t at = 0; at < bytes; at += 4)
    add(static_cast<uint32_t>(offset + at), static_cast<uint8_t>(std::min<size_t>(4, bytes - at)), thread, place | at);
}

void end_banks_of_block() {
  for (const auto& [key, instruction] : gathered) settle(instruction, totals[static_cast<uint32_t>(std::get<0>(key) >> 16)]);
  gathered.clear();
  executed.clear();
}

std::string written_banks() {
  std::string text;
  for (const auto& [pc, total] : totals) {
    char line[128];
    snprintf(line, sizeof line, "%s[%u,%llu,%llu,%llu]", text.empty() ? "" : ",", pc,
             static_cast<unsigned long long>(total.instructions), static_cast<unsigned long long>(total.wavefronts),
             static_cast<unsigned long long>(total.least));
    text += line;
  }
  return text;
}

}  // namespace smem
