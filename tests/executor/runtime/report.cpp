// What a run found, as JSON, and the bytes of the buffers that a kernel wrote.
#include <fcntl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>

#include "runtime.h"

// Made with each program (../programs.py).
struct smem_program {
  void (*run)();
};
extern const smem_program smem_programs[];

namespace smem {

Trap the_trap;

void trap(const char* kind, uint32_t pc, Where where, uint64_t address, uint64_t bytes) {
  if (machine.stopped) return;
  machine.stopped = true;
  the_trap = {kind, pc, machine.current, address, bytes, where == Where::shared};
}

std::string written_report() {
  std::ostringstream out;
  out << "{\"races\":[" << written_races() << "],\"uninitialised\":[" << written_uninitialised() << "],\"divergence\":["
      << written_divergence() << "],\"scattered\":[" << written_scattered() << "],\"abandoned\":["
      << written_abandoned() << "],\"deadlock\":[" << written_deadlock() << "],\"banks\":[" << written_banks() << "]";
  if (!the_trap.kind.empty())
    out << ",\"trap\":[\"" << the_trap.kind << "\"," << the_trap.pc << "," << the_trap.thread << "," << the_trap.address
        << "," << the_trap.bytes << "," << (the_trap.shared ? "true" : "false") << "]";
  out << ",\"launches\":" << machine.launches << ",\"accesses\":" << machine.accesses << ",\"barriers\":" << machine.barriers
      << ",\"switches\":" << machine.switches << ",\"schedule\":" << machine.schedule
      << ",\"read\":" << machine.read << ",\"buffers\":[";
  bool first = true;
  for (size_t i = 0; i < allocations().size(); ++i) {
    const Allocation& each = allocations()[i];
    if (!each.written) continue;
    out << (first ? "" : ",") << "[" << i << "," << each.size << "]";
    first = false;
  }
  out << "]}";
  return out.str();
}

namespace {

void put(int out, const void* data, size_t size) {
  for (const char* at = static_cast<const char*>(data); size != 0;) {
    const ssize_t done = write(out, at, size);
    if (done <= 0) _exit(3);
    at += done;
    size -= static_cast<size_t>(done);
  }
}

// A frame: bytes of the JSON, bytes behind it, both.
void put_frame(int out, const std::string& json, uint64_t raw) {
  const uint64_t sizes[2] = {json.size(), raw};
  put(out, sizes, sizeof sizes);
  put(out, json.data(), json.size());
}

void run_one(const Request& request, int out) {
  start_machine(request);
  open_arena(request);
  smem_programs[request.program].run();
  uint64_t raw = 0;
  for (const Allocation& each : allocations()) raw += each.written ? each.size : 0;
  put_frame(out, written_report(), raw);
  for (const Allocation& each : allocations())
    if (each.written) put(out, each.begin, each.size);
}

bool parse(const std::string& line, Request& request, unsigned& seconds) {
  std::istringstream in(line);
  int banks = 0, pairs = 0;
  size_t regions = 0;
  if (!(in >> request.program >> request.seed >> banks >> pairs >> request.budget >> seconds >> request.dynamic_base >> regions))
    return false;
  request.banks = banks != 0;
  request.pairs = pairs != 0;
  request.statics.resize(regions);
  for (Region& region : request.statics) in >> region.begin >> region.size;
  return static_cast<bool>(in);
}

}  // namespace

}  // namespace smem

// Reads a request a line and answers each with a frame. Every run is a process of its own, so it begins with fresh
// variables and its crash is an answer like any other.
int main() {
  const int out = dup(STDOUT_FILENO);
  dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
  for (std::string line; std::getline(std::cin, line);) {
    smem::Request request;
    unsigned seconds = 0;
    if (!smem::parse(line, request, seconds)) return 2;
    const pid_t child = fork();
    if (child == 0) {
      const itimerval limit = {{0, 0}, {static_cast<time_t>(seconds), 0}};
      setitimer(ITIMER_PROF, &limit, nullptr);
      smem::run_one(request, out);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
      smem::put_frame(out, "{\"crash\":" + std::to_string(WIFSIGNALED(status) ? WTERMSIG(status) : 0) + "}", 0);
  }
  return 0;
}
