"""A ring that the stages of a ``cuda::pipeline`` fill ahead of a loop of run-time length: free when each was waited
for."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from carets import codes
from copy_ring_texts import DYNAMIC, LOOP, READ, STATIC, assert_compiled, shares, text_of
from harness import kernel_facts

from smem_lsp.engine import check

HEAD = """\
#include <cooperative_groups.h>
#include <cuda/pipeline>
namespace cg = cooperative_groups;
"""
OWN = "auto block = cg::this_thread_block(); auto pipe = cuda::make_pipeline(); "
OF_BLOCK = (
    "auto block = cg::this_thread_block(); "
    "__shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state; "
    "auto pipe = cuda::make_pipeline(block, &state); "
)
EACH = "cuda::memcpy_async(&ring[j % STAGES][4 * t], in + j * 512 + 4 * t, 16, pipe);"
TOGETHER = "cuda::memcpy_async(block, ring[j % STAGES], in + j * 512, 2048, pipe);"
STAGE = f"if (j < n) {{ pipe.producer_acquire(); {EACH} pipe.producer_commit(); }} "
ALWAYS = f"pipe.producer_acquire(); if (j < n) {{ {EACH} }} pipe.producer_commit(); "
FIRST = f"for (int j = 0; j < STAGES - 1; ++j) {{ {STAGE} }} "
USE = f"pipe.consumer_wait(); __syncthreads(); {READ} pipe.consumer_release(); "
NEXT = f"const int j = k + STAGES - 1; {STAGE}"
USED = f"{FIRST}{LOOP}{{ {USE} __syncthreads(); {NEXT} }}"
FILLED = f"{FIRST}{LOOP}{{ {NEXT} {USE} __syncthreads(); }}"
COUNTED = USED.replace(STAGE, ALWAYS)
PRIOR = COUNTED.replace("pipe.consumer_wait();", "cuda::pipeline_consumer_wait_prior<STAGES - 2>(pipe);")
AHEAD = (
    f"int next = 0; {LOOP}{{ for (; next < n && next < k + STAGES; ++next) {{ const int j = next; {STAGE} }} "
    f"{USE} __syncthreads(); }}"
)
DRAIN = " cuda::pipeline_consumer_wait_prior<0>(pipe);"
BARE = f"{FIRST}{LOOP}{{ {USE.replace('__syncthreads();', '')} {NEXT} }}"
ROLES = (
    OF_BLOCK.replace(
        "&state)", "&state, t < 64 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer)"
    )
    + f"if (t < 64) {{ for (int j = 0; j < n; ++j) {{ {STAGE.replace('4 * t', '8 * t')} }} }} "
    + f"else {{ {LOOP}{{ {USE.replace('__syncthreads();', '')} }} }}"
)

SIGNAL = (
    "for (int j = 0; j < STAGES; ++j) for (int i = t; i < 512; i += 128) ring[j][i] = in[i]; "
    "pipe.producer_acquire(); pipe.producer_commit(); "
    "pipe.consumer_wait(); v = ring[STAGES - 1][511 - t]; pipe.consumer_release();"
)

OVER = [
    OWN + USED,
    OF_BLOCK + USED,
    OWN + USED.replace(EACH, TOGETHER),
    OF_BLOCK + USED.replace(EACH, TOGETHER),
    OF_BLOCK + BARE.replace(EACH, TOGETHER),
    OWN + FILLED,
    OF_BLOCK + FILLED,
    OWN + COUNTED,
    OF_BLOCK + COUNTED,
    OWN + PRIOR,
    OWN + PRIOR.replace("STAGES - 2", "0"),
    OWN + PRIOR.replace(" - 2>", " - 1>") + DRAIN,
    OWN + AHEAD,
    OWN + USED.replace("j < n", "t < 64 && j < n").replace("4 * t", "8 * t"),
    "const int turns = n / 16; " + OWN + USED.replace("< n", "< turns"),
    OWN + f"for (int r = 0; r < n; ++r) {{ {USED} }}",
    f"for (int r = 0; r < n; ++r) {{ {OWN} {USED} }}",
    OWN + "pipe.consumer_wait(); " + USED,
    OWN + USED.replace("j < n", "j < n && in[j] > 0"),
]
GOES_ON = [
    OWN + USED.replace("pipe.consumer_wait();", "if (k + 1 < n) pipe.consumer_wait();"),
    OF_BLOCK + USED.replace("pipe.consumer_wait();", "if (k + 1 < n) pipe.consumer_wait();"),
    OWN + USED.replace("k < n;", "k < n - 1;"),
    OF_BLOCK + USED.replace("k < n;", "k < n - 1;"),
    OF_BLOCK + USED.replace("pipe.consumer_release();", ""),
    OWN + USED.replace("j < n", "j <= n"),
    OWN + PRIOR.replace("STAGES - 2", "STAGES - 1"),
    OWN + PRIOR.replace(ALWAYS, STAGE),
    OWN + "pipe.producer_commit(); " + USED,
    OF_BLOCK + "pipe.producer_commit(); " + USED,
    OWN + FIRST + COUNTED[COUNTED.index(LOOP) :].replace(ALWAYS, STAGE + "pipe.producer_commit(); "),
    OWN + "auto other = cuda::make_pipeline(); " + USED.replace("pipe.consumer", "other.consumer"),
    OWN + "auto other = cuda::make_pipeline(); " + USED.replace("pipe.producer_c", "other.producer_c"),
    OWN + USED.replace("__syncthreads(); v", "__syncthreads(); if (v > 9) break; v"),
    OWN + USED.replace("pipe.consumer_wait();", "if (t < 64) pipe.consumer_wait();"),
    OWN + USED.replace("pipe.consumer_wait();", "__syncthreads();"),
    OWN + f"for (int r = 0; r < n; ++r) {{ {USED} }}".replace("k < n;", "k < n - 1;"),
    OWN + "for (int j = 0; j < 12; ++j) pipe.producer_commit(); " + USED,
    OWN + USED.replace("__syncthreads(); v", "__syncthreads(); if (v > 9) { pipe.quit(); break; } v"),
    OWN + USED.replace("pipe.consumer_wait();", "if (in[k] > 3) continue; pipe.consumer_wait();"),
    ROLES,
]


@pytest.mark.parametrize("body", OVER)
def test_the_ring_is_free_behind_the_loop(body: str) -> None:
    assert shares(body, head=HEAD)


@pytest.mark.parametrize("body", GOES_ON)
def test_it_is_not_where_a_copy_may_go_on(body: str) -> None:
    assert not shares(body, head=HEAD)


@pytest.mark.parametrize("stages", [2, 3, 6])
def test_with_any_number_of_stages(stages: int) -> None:
    for pipe, body in ((OWN, USED), (OF_BLOCK, FILLED), (OWN, PRIOR)):
        assert shares(pipe + body, stages, head=HEAD)
        assert not shares(pipe + body.replace("k < n;", "k < n - 1;"), stages, head=HEAD)


@pytest.mark.parametrize("body", [*OVER[:5], OVER[6], OVER[9], *GOES_ON[:2], GOES_ON[5]])
def test_ranges_of_dynamic_memory_are_told_as_arrays_are(body: str) -> None:
    divided = kernel_facts(text_of(body, DYNAMIC, head=HEAD)).dynamic_partition
    assert divided is not None
    free = body in OVER
    assert min(candidate.plan.bytes for candidate in divided.best) == (8192 if free else 16384)


@pytest.mark.parametrize(
    "body",
    [
        *OVER,
        ROLES,
        ROLES.replace(EACH.replace("4 * t", "8 * t"), "ring[j % STAGES][8 * t] = in[j * 512 + t];"),
        OF_BLOCK + SIGNAL,
    ],
)
def test_no_race_is_told(body: str) -> None:
    assert not codes(check(text_of(body, head=HEAD)), among=("SMEM1", "SMEM2", "SMEM4"))


def test_a_copy_of_the_block_is_in_the_range_that_its_bytes_are_of() -> None:
    long = (OF_BLOCK + USED).replace(EACH, TOGETHER.replace("2048", "2052"))
    divided = kernel_facts(text_of(long, DYNAMIC, head=HEAD)).dynamic_partition
    assert divided is None or min(candidate.plan.bytes for candidate in divided.best) == 16384
    copy = (
        "pipe.producer_acquire(); cuda::memcpy_async(block, tile, in, 2048, pipe); pipe.producer_commit(); "
    )
    wait = "pipe.consumer_wait(); pipe.consumer_release(); __syncthreads(); "
    ring = "for (int s = 0; s < STAGES; ++s) for (int i = t; i < 512; i += 128) ring[s][i] = in[i]; __syncthreads(); "
    for arrays in (STATIC, DYNAMIC):
        for read in ("ring[STAGES - 1][511 - t]", "tile[511 - t]"):
            late = text_of(f"{OWN}{ring}{copy} v = {read}; {wait}", arrays, head=HEAD)
            assert codes(check(late), among=("SMEM2",)) == (["SMEM206"] if "tile" in read else [])


def test_other_threads_copies_need_a_barrier_behind_the_wait() -> None:
    """A pipeline of one thread says nothing of theirs."""
    last = "\n  __syncthreads();\n  for"
    text = text_of(OWN + FIRST + f"{LOOP}pipe.consumer_wait(); ", head=HEAD)
    assert last in text
    plans = [
        [each.plan for each in kernel_facts(each).best if each.plan.bytes == 8192]
        for each in (text, text.replace(last, "\n  for"))
    ]
    assert any(not each.barriers for each in plans[0])
    assert all(each.barriers for each in plans[1])


def in_flight_at_the_end(turns: int, numbers: dict[str, int], *, inside: bool) -> bool:
    """Is a copy in flight behind the loop, where each lands as late as it can? As CCCL's cuda/pipeline counts."""
    groups: list[bool] = []  # the newest first: are copies in them?
    under_way = 0
    uncommitted = False

    def fill(fills: bool) -> None:
        nonlocal uncommitted, under_way
        uncommitted |= fills
        if fills or not inside:
            groups.insert(0, uncommitted)
            uncommitted = False
            under_way += 1

    for j in range(numbers["first"]):
        fill(j < turns + numbers["guard"])
    for k in range(turns + numbers["turns"]):
        if numbers["left"] >= 0:
            under_way = numbers["left"]
            del groups[under_way:]
        for _ in range(numbers["waits"]):
            if under_way:
                under_way -= 1
                del groups[under_way:]
        fill(k + numbers["ahead"] < turns + numbers["ends"])
    return uncommitted or any(groups)


@pytest.mark.slow(seconds=4)
def test_rings_with_random_distances_share_where_nothing_can_be_in_flight() -> None:
    source, shared = random.Random(7), 0
    for _ in range(100):
        stages, inside, prior = source.choice((2, 3, 4)), source.random() < 0.5, source.random() < 0.3
        usual = {
            "first": stages - 1,
            "guard": 0,
            "turns": 0,
            "waits": 1 - prior,
            "ahead": stages - 1,
            "ends": 0,
        }
        numbers = usual | {
            name: max(0, usual[name] + source.choice((-1, 1)))
            for name in source.sample(sorted(usual), source.randrange(3))
        }
        numbers["left"] = stages - 2 if prior else -1
        first, guard, turns, waits, ahead, ends = (numbers[each] for each in usual)
        close = ("", "pipe.producer_commit();") if inside else ("pipe.producer_commit();", "")
        waiting = f"cuda::pipeline_consumer_wait_prior<{stages - 2}>(pipe); " if prior else ""
        waiting += "pipe.consumer_wait(); pipe.consumer_release(); " * waits
        body = (
            f"{OWN}for (int j = 0; j < {first}; ++j) {{ if (j < n + {guard}) {{ {EACH} {close[1]} }} {close[0]} }} "
            f"for (int k = 0; k < n + {turns}; ++k) {{ {waiting} __syncthreads(); const int j = k + {ahead}; "
            f"if (j < n + {ends}) {{ {EACH} {close[1]} }} {close[0]} {READ} __syncthreads(); }}"
        )
        if shares(body, stages, head=HEAD):
            shared += 1
            assert not any(in_flight_at_the_end(n, numbers, inside=inside) for n in range(-3, 16)), body
    assert shared >= 20


@pytest.mark.slow(seconds=20)
def test_the_texts_are_programs(tmp_path: Path) -> None:
    assert_compiled(OVER + GOES_ON, tmp_path, HEAD)
