"""What is kept of a kernel weighs the memory that it took."""

from __future__ import annotations

import itertools

import pytest

from smem_lsp.engine import cache as of_kernels
from smem_lsp.engine import check
from smem_lsp.engine.cache import ANALYSES
from smem_lsp.source.queries import Store

KERNEL = """\
__global__ void k(const float* in, float* out) {
  __shared__ float a[64];
  a[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = a[63 - threadIdx.x];
}
"""


@pytest.mark.parametrize(("taken", "more"), [(-1_000, False), (1_000_000, True)])
def test_what_takes_more_memory_weighs_more_than_its_text(
    taken: int, more: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``taken``: blocks of memory, as if nothing but the check had taken or freed any."""
    monkeypatch.setattr(of_kernels, "_taken", itertools.cycle((0, taken)).__next__)
    store = Store()
    check(KERNEL, cache=store)
    assert ANALYSES.count(store) == 1
    assert (ANALYSES.weight(store) > 80 * (100 + len(KERNEL))) is more
    check(f"\n{KERNEL}", cache=store)  # known: it is not weighed again
    assert (ANALYSES.weight(store) > 80 * (100 + len(KERNEL))) is more
