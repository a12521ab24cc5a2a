"""SMEM503 of negative sizes: -1 for "does not fit" is no size that a launch passes if somebody asks before."""

from __future__ import annotations

import pytest
from carets import expect

KERNEL = """
__global__ void k(const float* in, float* out) {
//              ^ SMEM503
  extern __shared__ float s[];
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[255 - threadIdx.x];
}
int wanted(int n) {
  if (n > 1024) return -1;
  return n * 4;
}
bool sized(int n, int* bytes) {
  if (n > 1024) {
    *bytes = -1;
    return false;
  }
  *bytes = n * 4;
  return true;
}
void fail(const char* words) { exit(1); }
bool fits(int n) { return wanted(n) != -1; }
static const int NEVER = -1;
bool usable() { return NEVER >= 0; }
template <int N> constexpr int wanted_of() { return N > 1024 ? -1 : N * 4; }
"""
LAUNCH = "k<<<1, 256, bytes>>>(in, out);"
ASKED = {
    "a comparison that is decided": "int bytes = wanted(2048); if (bytes < 0) return; LAUNCH",
    "one that a parameter decides": "int bytes = wanted(n); if (bytes == -1) return; LAUNCH",
    "a flag": "int bytes = wanted(n); const bool ok = bytes >= 0; if (!ok) return; LAUNCH",
    "a flag of more": "int bytes = wanted(n); const bool ok = bytes >= 0 && n > 0; if (ok) LAUNCH",
    "what the size function returns": "int bytes; if (sized(n, &bytes)) LAUNCH",
    "a function that asks the same one": "if (!fits(n)) return; int bytes = wanted(n); LAUNCH",
    "a function out of sight": "int bytes = wanted(2048); if (!is_size(bytes)) return; LAUNCH",
    "a check out of sight": 'int bytes = wanted(2048); demand(bytes >= 0, "too large"); LAUNCH',
    "a method out of sight": "int bytes = wanted(2048); log.demand(bytes >= 0); LAUNCH",
    "an end in a function": 'int bytes = wanted(2048); if (bytes < 0) { fail("too large"); } LAUNCH',
    "an end out of sight": 'int bytes = wanted(2048); if (bytes < 0) { die("too large"); } LAUNCH',
    "a message that ends": 'int bytes = wanted(2048); if (bytes < 0) { LOG(FATAL) << "no"; } LAUNCH',
    "a switch": "int bytes = wanted(2048); switch (bytes) { case -1: return; default: LAUNCH }",
    "a switch without a default": "int bytes = wanted(2048); switch (bytes) { case -1: return; } LAUNCH",
    "a switch on something else": "int bytes = -1; switch (n) { case 0: bytes = 64; break; } LAUNCH",
    "a loop that looks for one": "int bytes; while ((bytes = wanted(n)) < 0) n /= 2; LAUNCH",
    "a loop that ends with one": (
        "int bytes = -1; for (; n > 0; n /= 2) { bytes = wanted(n); if (bytes >= 0) break; } LAUNCH"
    ),
    "a size that is not set yet": "int bytes = -1; if (n < 1024) bytes = n * 4; LAUNCH",
    "a size that somebody chooses": "int bytes = n > 1024 ? -1 : n * 4; LAUNCH",
    "a constant of the file": "if (usable()) k<<<1, 256, NEVER>>>(in, out);",
    "a constant of a template": (
        "if (!usable()) return; constexpr int bytes = wanted_of<2048>(); if (bytes > limit()) return; LAUNCH"
    ),
    "a launch by a function": (
        "int bytes = wanted(2048); auto go = [&](int bytes) { LAUNCH }; if (is_size(bytes)) go(bytes);"
    ),
}
NOT_ASKED = {
    "a literal": "k<<<1, 256, -1>>>(in, out);",
    "a call": "int bytes = wanted(2048); LAUNCH",
    "a constant of the file": "k<<<1, 256, NEVER>>>(in, out);",
    "a constant of a template": "constexpr int bytes = wanted_of<2048>(); LAUNCH",
    "a difference": "int pad = 64; int bytes = 32 - pad; LAUNCH",
    "the wrong question": "int bytes = wanted(2048); if (bytes < 4096) LAUNCH",
    "a question about something else": "int bytes = wanted(2048); if (n > 3) return; LAUNCH",
    "a call for something else": "int bytes = wanted(2048); begin(out, n); if (ready(n)) LAUNCH",
    "a question behind it": "int bytes = wanted(2048); LAUNCH if (bytes < 0) return;",
    "a switch that leads there": "int bytes = wanted(2048); switch (bytes) { case 0: return; default: LAUNCH }",
    "overflow": "k<<<1, 256, 65536 * 65535>>>(in, out);",
}


def text(body: str) -> str:
    body = body.replace("LAUNCH", LAUNCH)
    return f"{KERNEL}void run(const float* in, float* out, int n) {{ {body} }}\n"


@pytest.mark.parametrize("body", ASKED.values(), ids=ASKED)
def test_a_size_that_is_asked_for_is_none_that_a_launch_passes(body: str) -> None:
    expect(text(body).replace("//              ^ SMEM503\n", ""), among=["SMEM503"])


@pytest.mark.parametrize("body", NOT_ASKED.values(), ids=NOT_ASKED)
def test_a_launch_that_is_reached_with_a_negative_size_is_told(body: str) -> None:
    expect(text(body), among=["SMEM503"])
