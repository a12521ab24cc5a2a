"""Loops that work their way to an end and look meanwhile whether another thread has failed: they wait for nobody."""

from __future__ import annotations

import pytest
from carets import codes

from smem_lsp.config import Config
from smem_lsp.engine import check

ASKED = Config(select=("SMEM201", "SMEM202", "SMEM205"))
KERNEL = """\
__global__ void __launch_bounds__(256) k(const int* in, int* out, int* far, int n) {{
  __shared__ int s[256];
  __shared__ int error;
  int t = threadIdx.x, at = 0;
  if (t == 0) error = 0;
  __syncthreads();
  s[t] = in[t];
  {loop}
  out[t] = s[255 - t];
}}
void host(int* p, int n) {{ k<<<1, 256>>>(p, p, p, n); }}
"""


def told(loop: str) -> list[str]:
    return codes(check(KERNEL.format(loop=loop), config=ASKED))


@pytest.mark.parametrize(
    "loop",
    [
        "while (error == 0 && at < n) { out[at] = t; at += 1 + in[at]; }",
        "while (at < n && error == 0) { if (in[at] < 0) atomicOr(&error, 1); far[at] = t; at = at + 2; }",
        "while (at < n) { if (error != 0) break; far[at] = t; at += 1 + in[at]; }",
    ],
)
def test_a_loop_with_an_end_of_its_own(loop: str) -> None:
    assert told(loop) == ["SMEM201"]


@pytest.mark.parametrize(
    "loop",
    [
        # nothing but what others do ends it, whatever it does meanwhile
        "while (error == 0) { out[at] = t; at += 1; }",
        "while (error == 0 || at < n) { out[at] = t; at += 1; }",
        "while (atomicAdd(&error, 0) == 0) { out[at] = t; at += 1; }",
        # it only waits, for so long at most
        "while (error == 0 && at < n) { at += 1; }",
        "while (atomicAdd(&error, 0) == 0 && at < n) { at += 1 + in[at]; }",
        # what it has come to is what others say
        "while (error == 0 && at < n) { out[0] = at; at = atomicAdd(far, 0); }",
    ],
)
def test_a_loop_that_may_wait(loop: str) -> None:
    assert told(loop) == []


TABLE = """\
__global__ void __launch_bounds__(256) k(const int* in, int* out, int n) {{
  __shared__ int s[256], keys[512];
  int t = threadIdx.x;
  for (int i = t; i < 512; i += 256) keys[i] = -1;
  __syncthreads();
  s[t] = in[t];
  int key = in[t + n], slot = key & 511;
  {loop}
  out[t] = s[255 - t];
}}
void host(int* p, int n) {{ k<<<1, 256>>>(p, p, n); }}
"""


@pytest.mark.parametrize(
    ("loop", "found"),
    [
        (
            "while (true) { int old = atomicCAS(&keys[slot], -1, key); if (old == -1 || old == key) break; "
            "slot = (slot + 1) % 512; }",
            ["SMEM201"],
        ),
        ("while (atomicCAS(keys + slot, -1, key) != -1) slot = (slot + 7) & 511;", ["SMEM201"]),
        ("while (atomicCAS(&keys[slot], -1, key) != -1) { ++slot; if (slot >= n) slot = 0; }", ["SMEM201"]),
        (
            "int old = -1, seen; do { seen = old; old = atomicCAS(keys, seen, max(seen, key)); } while (seen != old);",
            ["SMEM201"],
        ),
        # at one place until it is free
        ("while (atomicCAS(&keys[slot], -1, key) != -1) { }", []),
        ("while (atomicCAS(&keys[slot], -1, key) != -1) slot = (slot + 512) % 512;", []),
        # places that are given back
        (
            "while (atomicCAS(&keys[slot], -1, key) != -1) slot = (slot + 1) % 512; out[0] = t; "
            "atomicExch(&keys[slot], -1);",
            [],
        ),
        (
            "while (atomicCAS(&keys[slot], -1, key) != -1) slot = (slot + 1) % 512; out[0] = t; keys[slot] = -1;",
            [],
        ),
    ],
)
def test_a_loop_that_takes_a_place_in_a_table(loop: str, found: list[str]) -> None:
    assert codes(check(TABLE.format(loop=loop), config=ASKED)) == found
