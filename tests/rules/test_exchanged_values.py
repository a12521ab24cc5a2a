"""Races behind a branch on what lanes exchange: a vote, a reduction, a shuffle, of the warp or of a group."""

from __future__ import annotations

import pytest

from smem_lsp.engine import FileReport, check

KERNEL = """\
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__global__ void k(const int* in, int* out) {{
  __shared__ int s[8][32];
  auto warp = cg::tiled_partition<{size}>(cg::this_thread_block());
  int w = threadIdx.x / 32, lane = threadIdx.x % 32;
  s[w][lane] = in[threadIdx.x];
  int found = {found};
  {order}
  if (found > 4) out[threadIdx.x] = s[w][31 - lane];
}}
void run(const int* in, int* out) {{ k<<<1, 256>>>(in, out); }}
"""
LOADED = "in[threadIdx.x] > 0 ? 1 : 0"
EXCHANGES = (
    f"__ballot_sync(0xffffffff, {LOADED})",
    f"__reduce_add_sync(0xffffffff, {LOADED})",
    f"__shfl_sync(0xffffffff, {LOADED}, 3)",
    f"warp.ballot({LOADED})",
    f"warp.shfl({LOADED}, 0)",
    f"warp.shfl_down({LOADED}, 4)",
    f"cg::reduce(warp, {LOADED}, cg::plus<int>())",
    f"cg::inclusive_scan(warp, {LOADED}, cg::plus<int>())",
)


def checked(found: str, order: str = "", size: int = 32) -> FileReport:
    return check(KERNEL.format(found=found, order=order, size=size))


@pytest.mark.parametrize("found", EXCHANGES)
def test_lanes_that_exchange_values_do_not_order_memory(found: str) -> None:
    """Whoever exchanges values goes on in no order: the branch lets lanes through, and they race."""
    assert [each.code for each in checked(found).findings] == ["SMEM205"]
    mended = checked(found, "__syncwarp();")
    assert not mended.findings
    assert mended.kernels[0].verdict.kind.value == "race-free"


def test_what_is_not_loaded_is_no_data() -> None:
    """Which lanes a reduction over their numbers lets through is fixed, and not worked out."""
    report = checked("cg::reduce(warp, threadIdx.x, cg::plus<int>())")
    assert not report.findings
    assert report.kernels[0].verdict.kind.value == "undecided"


CHOSEN = """\
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__global__ void k(const int* in, int* out) {{
  __shared__ int s[8];
  auto warp = cg::tiled_partition<{size}>(cg::this_thread_block());
  int most = cg::reduce(warp, in[threadIdx.x] & 31, cg::greater<int>());
  if (threadIdx.x % 32 == most) s[threadIdx.x / 32] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x / 32];
}}
void run(const int* in, int* out) {{ k<<<1, 256>>>(in, out); }}
"""


def test_all_lanes_of_a_warp_get_one_answer() -> None:
    """One lane of each warp is chosen; with tiles of half a warp, two may be."""
    whole, halves = check(CHOSEN.format(size=32)), check(CHOSEN.format(size=16))
    assert whole.kernels[0].verdict.kind.value == "race-free"
    assert halves.kernels[0].verdict.kind.value == "undecided"
    assert not whole.findings and not halves.findings


def test_threads_of_different_groups_may_get_different_answers() -> None:
    """How many lanes are together depends on the warp: nothing that is reduced among them is uniform."""
    text = CHOSEN.replace("cg::tiled_partition<{size}>(cg::this_thread_block())", "cg::coalesced_threads()")
    divergent = text.replace("in[threadIdx.x] & 31", "1").replace(
        "  __syncthreads();", "  if (most > 8) __syncthreads();"
    )
    assert divergent.count("most > 8") == 1
    assert check(divergent.format()).kernels[0].verdict.kind.value != "race-free"
