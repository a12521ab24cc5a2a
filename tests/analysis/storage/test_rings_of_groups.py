"""A ring that groups of ``cp.async`` fill ahead of a loop of run-time length: free when each group was waited for."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from carets import codes
from copy_ring_texts import DYNAMIC, LOOP, READ, STATIC, assert_compiled, shares, text_of
from harness import kernel_facts

from smem_lsp.engine import check

HEAD = """\
#include <cuda_pipeline.h>
#include <cstdint>
__device__ inline void copy(float* to, const float* from) {
  uint32_t place = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place), "l"(from) : "memory");
}
__device__ inline void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N>
__device__ inline void wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }
"""
COPY = "copy(&ring[j % STAGES][4 * t], in + j * 512 + 4 * t);"
FIRST = f"for (int j = 0; j < STAGES - 1; ++j) {{ if (j < n) {{ {COPY} }} commit(); }} "
FILL = f"{{ const int j = k + STAGES - 1; if (j < n) {{ {COPY} }} commit(); }}"
USED = FIRST + f"{LOOP}{{ wait<STAGES - 2>(); __syncthreads(); {FILL} {READ} }}"
FILLED = FIRST + f"{LOOP}{{ {FILL} wait<STAGES - 1>(); __syncthreads(); {READ} __syncthreads(); }}"
INSIDE = USED.replace("} commit();", "commit(); }").replace(
    "wait<STAGES - 2>();", "if (k + STAGES - 1 < n) wait<STAGES - 2>(); else wait<0>();"
)
NEXT = (
    "if (n > 0) { const int j = 0; COPY } commit(); "
    f"{LOOP}{{ wait<0>(); __syncthreads(); const int j = k + 1; if (j < n) {{ COPY commit(); }} {READ} }}"
).replace("COPY", COPY)
TWO = (
    "if (n > 0) { const int j = 0; COPY } commit(); "
    f"{LOOP}{{ const int j = k + 1; if (j < n) {{ COPY commit(); wait<1>(); }} else {{ wait<0>(); }} "
    f"__syncthreads(); {READ} __syncthreads(); }}"
).replace("COPY", COPY)
DRAIN = " wait<0>();"

OVER = [
    USED,
    USED + DRAIN,
    FILLED,
    INSIDE,
    NEXT,
    TWO,
    USED.replace("commit", "__pipeline_commit").replace("wait<STAGES - 2>()", "__pipeline_wait_prior(STAGES - 2)"),
    FIRST.replace("j < n", "true") + LOOP + "{ wait<STAGES - 2>(); __syncthreads(); }" + DRAIN,
    "const int turns = n / 16; " + USED.replace("< n", "< turns"),
]  # fmt: skip
GOES_ON = [
    USED.replace("STAGES - 2", "STAGES - 1"),
    USED.replace("j < n", "j <= n"),
    FIRST.replace("j < n", "true") + USED[len(FIRST) :],
    USED.replace("k < n", "k < n - 1"),
    USED.replace("} commit(); } __", "commit(); } } __").replace("} commit(); } v", "commit(); } } v"),
    USED.replace("__syncthreads();", "__syncthreads(); if (v > 9) break;"),
    USED.replace("__syncthreads();", "__syncthreads(); if (in[k] > 9) n = k;"),
    FILLED.replace("STAGES - 1>", "STAGES>"),
    INSIDE.replace("else wait<0>();", ""),
    NEXT.replace("n > 0", "true"),
    NEXT.replace("j < n", "j <= n"),
    TWO.replace("else { wait<0>(); }", "else { wait<1>(); }"),
]


@pytest.mark.parametrize("body", OVER)
def test_the_ring_is_free_behind_the_loop(body: str) -> None:
    assert shares(body, head=HEAD)


@pytest.mark.parametrize("body", GOES_ON)
def test_it_is_not_where_a_copy_may_go_on(body: str) -> None:
    assert not shares(body, head=HEAD)


@pytest.mark.parametrize("stages", [2, 3, 6])
def test_with_any_number_of_stages(stages: int) -> None:
    for body in (USED, FILLED, INSIDE):
        assert shares(body, stages, head=HEAD)
        assert not shares(body.replace("k < n;", "k < n - 1;"), stages, head=HEAD)


@pytest.mark.parametrize("body", [*OVER, *GOES_ON[:4]])
def test_ranges_of_dynamic_memory_are_told_as_arrays_are(body: str) -> None:
    divided = kernel_facts(text_of(body, DYNAMIC, head=HEAD)).dynamic_partition
    assert divided is not None
    free = body in OVER
    assert min(candidate.plan.bytes for candidate in divided.best) == (8192 if free else 16384)


@pytest.mark.parametrize("body", [USED, FILLED, NEXT, TWO])
def test_no_race_is_told(body: str) -> None:
    for arrays in (STATIC, DYNAMIC):
        assert not codes(check(text_of(body, arrays, head=HEAD)), among=("SMEM1", "SMEM2", "SMEM4"))


def in_flight_at_the_end(turns: int, numbers: dict[str, int], *, inside: bool) -> bool:
    """Is a copy in flight behind the loop, where each lands as late as it can?"""
    groups: list[bool] = []  # the newest first: are copies in them?
    uncommitted = False

    def fill(fills: bool) -> None:
        nonlocal uncommitted
        uncommitted |= fills
        if fills or not inside:
            groups.insert(0, uncommitted)
            uncommitted = False

    for j in range(numbers["first"]):
        fill(j < turns + numbers["guard"])
    for k in range(turns + numbers["turns"]):
        del groups[max(0, numbers["left"]) :]
        fill(k + numbers["ahead"] < turns + numbers["ends"])
    return uncommitted or any(groups)


@pytest.mark.slow(seconds=6)
def test_rings_with_random_distances_share_where_nothing_can_be_in_flight() -> None:
    source, shared = random.Random(7), 0
    for _ in range(100):
        stages, inside = source.choice((2, 3, 4)), source.random() < 0.3
        usual = {
            "first": stages - 1,
            "guard": 0,
            "turns": 0,
            "left": stages - 2,
            "ahead": stages - 1,
            "ends": 0,
        }
        numbers = usual | {
            name: max(0, usual[name] + source.choice((-1, 1)))
            for name in source.sample(sorted(usual), source.randrange(3))
        }
        first, guard, turns, left, ahead, ends = (numbers[each] for each in usual)
        close = ("", "commit();") if inside else ("commit();", "")
        body = (
            f"for (int j = 0; j < {first}; ++j) {{ if (j < n + {guard}) {{ {COPY} {close[1]} }} {close[0]} }} "
            f"for (int k = 0; k < n + {turns}; ++k) {{ wait<{left}>(); __syncthreads(); const int j = k + {ahead}; "
            f"if (j < n + {ends}) {{ {COPY} {close[1]} }} {close[0]} {READ} __syncthreads(); }}"
        )
        if shares(body, stages, head=HEAD):
            shared += 1
            assert not any(in_flight_at_the_end(n, numbers, inside=inside) for n in range(-3, 16)), body
    assert shared >= 20


@pytest.mark.slow(seconds=15)
def test_the_texts_are_programs(tmp_path: Path) -> None:
    assert_compiled(OVER + GOES_ON, tmp_path, HEAD)
