"""Barriers that threads reach at different places, threads that wait for ever, and what warps exchange."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pytest

from executor import Programs
from executor.cases import built, marked, source, under_all_seeds

DIVERGENT = {
    "arms_of_a_branch_that_splits_a_warp": (
        """
        if (tid & 1) {
          __syncthreads();  // here
        } else {
          __syncthreads();  // here
        }
        """,
        True,
    ),
    "arms_of_a_branch_on_the_warp": (
        """
        if (tid < 32) {
          __syncthreads();  // here
        } else {
          __syncthreads();  // here
        }
        """,
        False,
    ),
    "one_warp_is_a_barrier_ahead": (
        """
        if (tid >= 32) __syncthreads();  // here
        __syncthreads();  // here
        if (tid < 32) __syncthreads();  // here
        """,
        False,
    ),
}
UNIFORM = {
    "an_array_of_barrier_objects": """
        __shared__ cuda::barrier<cuda::thread_scope_block> bars[3];
        if (tid < 3) init(&bars[tid], 64);
        __syncthreads();
        for (int i = 0; i < 7; ++i) bars[i % 3].arrive_and_wait();
    """,
    "a_uniform_branch": """
        if (n > 3) __syncthreads();
        else out[tid] = 1;
        __syncthreads();
    """,
    "threads_that_have_returned": """
        if (tid >= 40) return;
        __syncthreads();
    """,
    "a_barrier_in_a_function": """
        __device__ void meet() { __syncthreads(); }
        __global__ void k(const float* in, float* out, int n) {
          meet();
          for (int i = 0; i < n; ++i) meet();
        }
    """,
}
DEADLOCKS = {
    "a_warp_barrier_that_half_the_warp_reaches": (
        """
        if (tid % 32 < 16) __syncwarp();  // here
        __syncthreads();  // here
        """,
        {"warp", "block barrier"},
    ),
    "a_named_barrier_that_too_few_reach": (
        """
        if (tid < 32) asm volatile("bar.sync 1, 64;");  // here
        """,
        {"named barrier"},
    ),
    "a_named_barrier_and_a_block_barrier": (
        """
        if (tid < 32) asm volatile("bar.sync 1, 64;");  // here
        else __syncthreads();  // here
        """,
        {"named barrier", "block barrier"},
    ),
    "a_barrier_object_that_expects_too_many": (
        """
        __shared__ cuda::barrier<cuda::thread_scope_block> bar;
        if (tid == 0) init(&bar, 65);
        __syncthreads();
        bar.arrive_and_wait();  // here
        """,
        {"barrier object"},
    ),
    "lanes_in_different_shuffles": (
        """
        int v = tid & 1 ? __shfl_sync(0xFFFFFFFFu, tid, 0)  // here
                        : __ballot_sync(0xFFFFFFFFu, tid);  // here
        out[tid] = v;
        """,
        {"warp"},
    ),
}
# Kernel, and the values of out[0], out[1]… by thread.
EXCHANGES = {
    "counts": ("out[tid] = __syncthreads_count(tid < 10);", [10.0] * 64),
    "any": ("out[tid] = __syncthreads_or(tid == 5) + 2 * __syncthreads_or(0);", [1.0] * 64),
    "all": ("out[tid] = __syncthreads_and(tid < 64) + 2 * __syncthreads_and(tid);", [1.0] * 64),
    "shuffle": ("out[tid] = __shfl_sync(0xFFFFFFFFu, tid, 3);", [3.0] * 32 + [35.0] * 32),
    "shuffle_of_eights": (
        "out[tid] = __shfl_sync(0xFFFFFFFFu, tid, 9, 8);",
        [float(t // 8 * 8 + 1) for t in range(64)],
    ),
    "shuffle_down": (
        "out[tid] = __shfl_down_sync(0xFFFFFFFFu, tid, 5, 16);",
        [float(t + 5 if t % 16 < 11 else t) for t in range(64)],
    ),
    "shuffle_up": (
        "out[tid] = __shfl_up_sync(0xFFFFFFFFu, (double)tid, 2);",
        [float(t - 2 if t % 32 >= 2 else t) for t in range(64)],
    ),
    "shuffle_xor": ("out[tid] = __shfl_xor_sync(0xFFFFFFFFu, tid, 7);", [float(t ^ 7) for t in range(64)]),
    "ballot": ("out[tid] = __popc(__ballot_sync(0xFFFFFFFFu, tid % 3 == 0));", [11.0] * 64),
    "votes": (
        "out[tid] = __any_sync(0xFFFFFFFFu, tid == 40) + 2 * __all_sync(0xFFFFFFFFu, tid < 32);",
        [2.0] * 32 + [1.0] * 32,
    ),
    "match": ("out[tid] = __match_any_sync(0xFFFFFFFFu, tid % 16) == (0x10001u << (tid % 16));", [1.0] * 64),
    "reduce": ("out[tid] = __reduce_add_sync(0xFFFFFFFFu, tid);", [496.0] * 32 + [1520.0] * 32),
    "lanes_that_have_returned": (
        "if (tid % 32 >= 20) return;\n out[tid] = __reduce_max_sync(0xFFFFFFFFu, tid);",
        [float(t // 32 * 32 + 19) if t % 32 < 20 else 0.0 for t in range(64)],
    ),
    "atomics": (
        "__shared__ unsigned a[4];\n if (tid < 4) a[tid] = tid == 1 ? 99 : 0;\n __syncthreads();\n"
        "atomicMax(&a[0], tid); atomicMin(&a[1], tid + 3u); atomicInc(&a[2], 9u); atomicCAS(&a[3], 0u, 5u);\n"
        "__syncthreads();\n out[tid] = a[tid % 4];",
        [63.0, 3.0, 4.0, 5.0] * 16,
    ),
}  # fmt: skip
ABANDONED = {
    "others_return_without_a_shuffle": "if (tid % 32 == 0) out[tid] = __shfl_xor_sync(0xFFFFFFFFu, tid, 1);  // here\n",
}
TEXTS = {
    **ABANDONED,
    **{name: text for name, (text, _) in DIVERGENT.items()},
    **UNIFORM,
    **{name: text for name, (text, _) in DEADLOCKS.items()},
    **{name: text for name, (text, _) in EXCHANGES.items()},
}
SOURCES = {name: source(name, text) for name, text in TEXTS.items()}


@pytest.fixture(scope="module")
def programs() -> Iterator[Programs]:
    with built(SOURCES) as all_of_them:
        yield all_of_them


@pytest.mark.parametrize("name", DIVERGENT)
def test_threads_that_meet_at_different_barriers(name: str, programs: Programs) -> None:
    lines = marked(SOURCES[name], "here")
    for outcome in under_all_seeds(programs, name):
        assert outcome.completed  # on sm_70 and newer they pair all the same
        assert {line for each in outcome.divergence for line in each.lines} == set(lines)
        assert any(each.splits_warp for each in outcome.divergence) == DIVERGENT[name][1]


@pytest.mark.parametrize("name", UNIFORM)
def test_all_threads_at_one_barrier(name: str, programs: Programs) -> None:
    for outcome in under_all_seeds(programs, name):
        assert outcome.clean, outcome.complaints


@pytest.mark.parametrize("name", DEADLOCKS)
def test_threads_that_wait_for_ever(name: str, programs: Programs) -> None:
    lines = marked(SOURCES[name], "here")
    for outcome in under_all_seeds(programs, name):
        assert not outcome.completed and outcome.trap is None
        assert {each.at for each in outcome.deadlock} == DEADLOCKS[name][1]
        assert {each.line for each in outcome.deadlock} == set(lines)
        assert sum(each.threads for each in outcome.deadlock) in (32, 64)


@pytest.mark.parametrize("name", ABANDONED)
def test_lanes_that_return_while_others_wait_for_them(name: str, programs: Programs) -> None:
    found = {line for outcome in under_all_seeds(programs, name) for line in outcome.abandoned}
    assert found == set(marked(SOURCES[name], "here"))


@pytest.mark.parametrize("name", EXCHANGES)
def test_what_threads_learn_from_each_other(name: str, programs: Programs) -> None:
    for outcome in under_all_seeds(programs, name):
        assert outcome.clean, outcome.complaints
        assert list(struct.unpack("64f", outcome.buffers[1][:256])) == EXCHANGES[name][1]
