"""Barriers of tiles that are less than a warp order the lanes of one tile, and no others."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check

TEXT = """\
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void k(const int* in, int* out) {
  __shared__ int s[256];
  auto tile = cg::tiled_partition<%d>(cg::this_thread_block());
  int t = threadIdx.x;
  s[t] = in[t];
  tile.sync();
  out[t] = s[%s];
}
void host(const int* in, int* out) { k<<<4, 256>>>(in, out); }
"""


@pytest.mark.parametrize(
    ("lanes", "index", "safe"),
    [
        (32, "t ^ 31", True),
        (16, "t ^ 15", True),
        (16, "t ^ 16", False),
        (8, "(t & ~7) + 7 - tile.thread_rank()", True),
        (8, "(t & ~31) + 31 - t % 32", False),
        (2, "t ^ 1", True),
        (2, "t ^ 2", False),
        (2, "t ^ 64", False),
    ],
)
def test_a_tile_orders_its_own_lanes(lanes: int, index: str, *, safe: bool) -> None:
    (found,) = check(TEXT % (lanes, index)).facts[0].analysis.verdicts
    assert (found.kind is VerdictKind.RACE_FREE) is safe, found.reasons
