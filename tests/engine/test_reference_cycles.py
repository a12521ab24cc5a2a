"""What a check does not need any more goes at once: large parts of it wait for no garbage collection."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from smem_lsp.engine import check

KERNEL = """\
__global__ void k(const float *in, float *out, int n, int m) {
  __shared__ float s[256];
  __shared__ float sum[8];
  int t = threadIdx.x, at = t;
  for (int i = 0; i < n; ++i) {
    if (i > m) at = t + i; else at = t + 2 * i;
    s[at & 255] = in[i * 256 + t];
    __syncthreads();
    out[i] = s[255 - t];
  }
  if (t % 32 == 0) sum[t / 32] = s[t];
  __syncthreads();
  if (t < n / 2 % 8) out[t] = sum[t];
}
void go(float *p, int n) { k<<<1, 256>>>(p, p, n, n); }
"""
SMALL = ("LoopVar", "Opaque")  # each holds itself


@contextmanager
def cycles() -> Iterator[set[str]]:
    """The classes of ours that are in cycles which the work inside leaves behind."""
    found: set[str] = set()
    gc.collect()
    gc.disable()
    try:
        yield found
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        found.update(
            type(each).__name__ for each in gc.garbage if type(each).__module__.startswith("smem_lsp")
        )
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


class _Node:
    """In a cycle."""

    def __init__(self) -> None:
        self.me = self


_Node.__module__ = "smem_lsp.of_a_test"


def test_a_check_leaves_nothing_large_in_cycles() -> None:
    check(KERNEL)  # what is made once stays
    with cycles() as found:
        report = check(KERNEL.replace("255 - t", "254 - t & 255"))
    assert report.findings and found <= {*SMALL}


def test_a_cycle_is_seen() -> None:
    with cycles() as found:
        _Node()
    assert found == {"_Node"}
