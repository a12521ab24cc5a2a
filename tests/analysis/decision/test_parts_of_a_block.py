"""Barriers that are for a part of a block, that come in two halves, or that are for all of it under another name."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check

TEXT = """\
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void k(const int* in, int* out, int n) {
  __shared__ int s[256], u[256];
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  int t = threadIdx.x;
  BODY
}
void host(const int* in, int* out, int n) { k<<<4, 256>>>(in, out, n); }
"""
BEFORE, AFTER = "s[t] = in[t];", "out[t] = s[255 - t];"
ARRIVE, WAIT = "auto token = block.barrier_arrive();", "block.barrier_wait(std::move(token));"
LENT = "__shared__ cg::block_tile_memory<256> lent; auto all = cg::this_thread_block(lent);"


def verdict(body: str) -> str:
    (kernel,) = check(TEXT.replace("BODY", body)).kernels
    return kernel.verdict.kind.value


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (f"{BEFORE} {ARRIVE} {WAIT} {AFTER}", "race-free"),
        (f"{BEFORE} {ARRIVE} out[t] = 3; {WAIT} {AFTER}", "race-free"),
        (f"{BEFORE} {ARRIVE} u[t] = 3; {WAIT} {AFTER}", "race-free"),
        (f"{ARRIVE} {BEFORE} {WAIT} {AFTER}", "racy"),
        (f"{BEFORE} {ARRIVE} {AFTER} {WAIT}", "racy"),
        (f"{BEFORE} {ARRIVE} {AFTER}", "racy"),
        (f"{BEFORE} {WAIT} {AFTER}", "undecided"),
        # what stands between the halves of two barriers is in no order with each other
        (
            f"{ARRIVE} {BEFORE} {WAIT} auto again = block.barrier_arrive(); {AFTER}"
            " block.barrier_wait(std::move(again));",
            "racy",
        ),
        # over the back edge
        (f"for (int i = 0; i < n; ++i) {{ {ARRIVE} {BEFORE} {WAIT} }}", "race-free"),
        (f"for (int i = 0; i < n; ++i) {{ {BEFORE} {ARRIVE} {WAIT} {AFTER} __syncthreads(); }}", "race-free"),
        (f"for (int i = 0; i < n; ++i) {{ {BEFORE} {ARRIVE} {WAIT} {AFTER} }}", "racy"),
        (
            f"for (int i = 0; i < n; ++i) {{ {BEFORE} {ARRIVE} out[t + i] = u[255 - t]; {WAIT} {AFTER}"
            " __syncthreads(); u[t] = i; __syncthreads(); }",
            "race-free",
        ),
    ],
)
def test_a_barrier_in_two_halves(body: str, words: str) -> None:
    assert verdict(body) == words


@pytest.mark.parametrize("group", ["cg::this_grid()", "cg::this_cluster()"])
def test_the_halves_of_what_is_more_than_a_block(group: str) -> None:
    start = f"auto g = {group};"
    halves = "auto token = g.barrier_arrive(); {} g.barrier_wait(std::move(token));"
    assert verdict(f"{start} {BEFORE} {halves.format('')} {AFTER}") == "race-free"
    assert verdict(f"{start} {halves.format(BEFORE)} {AFTER}") == "racy"
    assert verdict(f"{start} {BEFORE} g.sync(); {AFTER}") == "race-free"


@pytest.mark.parametrize(
    ("instructions", "words"),
    [
        ("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;", "race-free"),
        ("barrier.cluster.arrive.aligned;", "racy"),
        ("barrier.cluster.wait.aligned;", "undecided"),
        ("barrier.cta.sync 0;", "race-free"),
        ("bar.sync 0, 256;", "race-free"),
        ("bar.sync 3, 256;", "race-free"),
        ("barrier.sync 3;", "race-free"),
        ("bar.arrive 3, 256;", "racy"),
        ("bar.sync 3, 128;", "undecided"),
        ("{ .reg .pred p; .reg .u32 r; setp.ne.u32 p, 1, 0; barrier.red.popc.u32 r, 0, p; }", "race-free"),
        ("{ .reg .pred p, q; setp.ne.u32 p, 1, 0; bar.red.and.pred q, 3, 256, p; }", "race-free"),
    ],
)
def test_instructions(instructions: str, words: str) -> None:
    assert verdict(f'{BEFORE} asm volatile("{instructions}" ::: "memory"); {AFTER}') == words


def test_a_numbered_barrier_that_others_count_for_too_is_not_for_all() -> None:
    arrives = 'if (t < 64) asm volatile("bar.arrive 3, 256;" ::: "memory");'
    assert verdict(f'{arrives} {BEFORE} asm volatile("bar.sync 3, 256;" ::: "memory"); {AFTER}') == "racy"


@pytest.mark.parametrize(
    ("size", "other", "words"),
    [
        (64, "t ^ 63", "race-free"),
        (64, "t ^ 64", "racy"),
        (128, "t ^ 64", "race-free"),
        (128, "255 - t", "racy"),
        (256, "255 - t", "race-free"),
    ],
)
def test_tiles_of_several_warps(size: int, other: str, words: str) -> None:
    tile = f"{LENT} auto tile = cg::tiled_partition<{size}>(all);"
    assert verdict(f"{tile} {BEFORE} tile.sync(); out[t] = s[{other}];") == words


@pytest.mark.parametrize(
    ("group", "other", "words"),
    [
        ("cg::binary_partition(warp, t & 1)", "t ^ 1", "racy"),
        ("cg::binary_partition(warp, t & 1)", "t ^ 32", "racy"),
        ("cg::labeled_partition(warp, t & 3)", "t ^ 2", "racy"),
        ("cg::tiled_partition(block, 16)", "t ^ 16", "racy"),
        ("cg::tiled_partition(block, 16)", "t ^ 15", "race-free"),
        ("cg::tiled_partition(block, n)", "t ^ 15", "undecided"),
        ("cg::tiled_partition<8>(cg::tiled_partition<16>(block))", "t ^ 8", "racy"),
    ],
)
def test_a_part_orders_its_own_lanes(group: str, other: str, words: str) -> None:
    assert verdict(f"auto part = {group}; {BEFORE} part.sync(); out[t] = s[{other}];") == words


@pytest.mark.parametrize("group", ["cg::coalesced_threads()", "cg::binary_partition(warp, in[t])"])
def test_lanes_that_are_not_known_order_nothing_for_sure(group: str) -> None:
    assert verdict(f"auto part = {group}; {BEFORE} part.sync(); out[t] = s[t ^ 1];") == "undecided"


@pytest.mark.parametrize(
    ("barrier", "other", "words"),
    [
        ("if (t % 2 == 0) __syncwarp(0x55555555);", "t ^ 1", "racy"),
        ("if (t % 32 < 16) __syncwarp(0xffff); else __syncwarp(0xffff0000);", "t ^ 16", "racy"),
        ("if (t % 32 < 16) __syncwarp(0xffff); else __syncwarp(0xffff0000);", "t ^ 32", "racy"),
        ("__syncwarp();", "t ^ 31", "race-free"),
        ('asm("bar.warp.sync 0xffffffff;");', "t ^ 31", "race-free"),
        ('asm("bar.warp.sync %0;" :: "r"(n));', "t ^ 31", "undecided"),
        ('asm("bar.warp.sync 0x0000ffff;");', "t ^ 16", "racy"),
        ("cg::this_thread().sync();", "t ^ 1", "racy"),
    ],
)
def test_a_mask_names_the_lanes_that_wait(barrier: str, other: str, words: str) -> None:
    assert verdict(f"{BEFORE} {barrier} out[t] = s[{other}];") == words


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (f"{BEFORE} if (t & 128) __syncthreads(); else __syncthreads(); {AFTER}", "race-free"),
        (
            f"{BEFORE} if (t < 128) {{ __syncthreads(); {AFTER} }} else {{ __syncthreads(); {AFTER} }}",
            "race-free",
        ),
        (f"{BEFORE} if (t < 128) {{ {AFTER} __syncthreads(); }} else __syncthreads();", "racy"),
        (f"{BEFORE} if (t < 128) {{ __syncthreads(); s[t] = 2; }} else __syncthreads(); {AFTER}", "racy"),
        (f"while (n--) {{ {BEFORE} if (t < 128) __syncthreads(); else __syncthreads(); {AFTER} }}", "racy"),
    ],
)
def test_warps_meet_in_two_arms(body: str, words: str) -> None:
    assert verdict(body) == words


FIRST, LAST = 'asm("bar.sync 1, 128;" ::: "memory");', 'asm("bar.sync 2, 128;" ::: "memory");'


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (f"if (t < 128) {{ {BEFORE} {FIRST} out[t] = s[127 - t]; }}", "race-free"),
        (
            f"if (t < 128) {{ {BEFORE} {FIRST} out[t] = s[127 - t]; }}"
            f" else {{ {BEFORE} {LAST} out[t] = s[383 - t]; }}",
            "race-free",
        ),
        (f"if (t < 128) {{ {BEFORE} {FIRST} out[t] = s[255 - t]; }} else {{ {BEFORE} {LAST} }}", "racy"),
        # others are not ordered by it
        (f"{BEFORE} if (t < 128) {{ {FIRST} {AFTER} }}", "racy"),
        (f"if (t < 128) {{ {BEFORE} {FIRST} }} {AFTER}", "racy"),
        # nor those who are not counted, or count for another one
        (f"if (t < 64) {{ {BEFORE} {FIRST} out[t] = s[63 - t]; }}", "undecided"),
        (f"if (t < 128) {{ {BEFORE} {FIRST} out[t] = s[127 - t]; }} else {{ {FIRST} }}", "undecided"),
        (f"while (n--) {{ if (t < 128) {{ {BEFORE} {FIRST} out[t] = s[127 - t]; }} }}", "racy"),
    ],
)
def test_a_numbered_barrier_of_all_who_come_to_an_arm(body: str, words: str) -> None:
    assert verdict(body) == words


def test_what_a_group_is_made_with_is_evaluated() -> None:
    assert (
        verdict("auto part = cg::labeled_partition(warp, s[t] = t); part.sync(); out[t] = s[255 - t];")
        == "racy"
    )


@pytest.mark.parametrize(
    "body",
    [
        f"{BEFORE} {ARRIVE} {WAIT} out[t] = s[t];",
        f"{LENT} auto tile = cg::tiled_partition<64>(all); {BEFORE} tile.sync(); out[t] = s[t];",
        "auto g = cg::this_cluster(); s[t] = 1; g.sync(); out[t] = s[t];",
        's[t] = 1; asm volatile("bar.sync 3, 256;"); out[t] = s[t];',
    ],
)
def test_none_of_them_is_said_to_be_needless(body: str) -> None:
    assert not [
        finding for finding in check(TEXT.replace("BODY", body)).findings if finding.code == "SMEM204"
    ]
