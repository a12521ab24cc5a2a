"""Asynchronous copies: what reads or writes their bytes before the wait races with them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from executor import Programs
from executor.cases import built, marked, source, under_all_seeds

# Both accesses of each race stand on lines that end in `// race`.
RACY = {
    "an_asynchronous_copy_before_the_wait": """
        __shared__ float a[64];
        __pipeline_memcpy_async(&a[tid], &in[tid], 4);  // race
        __pipeline_commit();
        out[tid] = a[tid];  // race
        __pipeline_wait_prior(0);
    """,
    "an_asynchronous_copy_without_a_barrier": """
        __shared__ float a[64];
        __pipeline_memcpy_async(&a[tid], &in[tid], 4);  // race
        __pipeline_commit();
        __pipeline_wait_prior(0);
        out[tid] = a[63 - tid];  // race
    """,
    "a_wait_for_too_few_groups": """
        __shared__ float a[2][64];
        for (int i = 0; i < 2; ++i) {
          unsigned to = (unsigned)__cvta_generic_to_shared(&a[i][tid]);
          asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to), "l"(in + tid));  // race
          asm volatile("cp.async.commit_group;");
        }
        asm volatile("cp.async.wait_group 1;");
        __syncthreads();
        out[tid] = a[0][tid] + a[1][tid];  // race
        asm volatile("cp.async.wait_all;");
    """,
    "a_copy_of_a_barrier_object_before_its_phase": """
        __shared__ cuda::barrier<cuda::thread_scope_block> bar;
        __shared__ float a[64];
        if (tid == 0) init(&bar, 64);
        __syncthreads();
        cuda::memcpy_async(&a[tid], &in[tid], sizeof(float), bar);  // race
        auto token = bar.arrive();
        out[tid] = a[tid];  // race
        bar.wait(std::move(token));
    """,
}
CLEAN = {
    "copies_that_complete_with_a_barrier_object": """
        __shared__ cuda::barrier<cuda::thread_scope_block> bar;
        __shared__ float a[64];
        if (tid == 0) init(&bar, 64);
        __syncthreads();
        cuda::memcpy_async(cooperative_groups::this_thread_block(), a, in, cuda::aligned_size_t<16>(sizeof a), bar);
        bar.arrive_and_wait();
        out[tid] = a[63 - tid];
    """,
    "a_pipeline_of_two_stages": """
        __shared__ float a[2][64];
        auto pipe = cuda::make_pipeline();
        float v = 0;
        cuda::memcpy_async(&a[0][tid], &in[tid], sizeof(float), pipe);
        pipe.producer_commit();
        for (int i = 0; i < 4; ++i) {
          pipe.producer_acquire();
          if (i < 3) cuda::memcpy_async(&a[(i + 1) % 2][tid], &in[64 * (i + 1) + tid], sizeof(float), pipe);
          pipe.producer_commit();
          pipe.consumer_wait();
          __syncthreads();
          v += a[i % 2][63 - tid];
          __syncthreads();
          pipe.consumer_release();
        }
        out[tid] = v;
    """,
    "a_wait_for_the_older_group": """
        __shared__ float a[2][64];
        for (int i = 0; i < 2; ++i) {
          __pipeline_memcpy_async(&a[i][tid], &in[tid], 4);
          __pipeline_commit();
        }
        __pipeline_wait_prior(1);
        __syncthreads();
        out[tid] = a[0][63 - tid];
        __pipeline_wait_prior(0);
        __syncthreads();
        out[tid] += a[1][63 - tid];
    """,
}
SOURCES = {name: source(name, text) for name, text in {**RACY, **CLEAN}.items()}


@pytest.fixture(scope="module")
def programs() -> Iterator[Programs]:
    with built(SOURCES) as all_of_them:
        yield all_of_them


@pytest.mark.parametrize("name", RACY)
def test_a_race_is_reported_at_its_lines(name: str, programs: Programs) -> None:
    lines = marked(SOURCES[name], "race")
    for outcome in under_all_seeds(programs, name):
        assert outcome.races
        found = {line for race in outcome.races for line in race.lines}
        assert found == set(lines), outcome.complaints


@pytest.mark.parametrize("name", CLEAN)
def test_what_is_ordered_is_no_race(name: str, programs: Programs) -> None:
    outcomes = under_all_seeds(programs, name)
    assert [outcome.complaints for outcome in outcomes] == [""] * len(outcomes)
    assert all(outcome.buffers == outcomes[0].buffers for outcome in outcomes)
    assert any(outcomes[0].buffers[1])  # something was computed


def test_an_asynchronous_copy_is_told_apart_from_its_thread(programs: Programs) -> None:
    for outcome in under_all_seeds(programs, "an_asynchronous_copy_before_the_wait"):
        (race,) = outcome.races
        assert race.first.asynchronous and not race.second.asynchronous
        assert race.first.thread == race.second.thread


def test_asynchronous_copies_land_at_the_issue_or_at_the_wait(programs: Programs) -> None:
    outcomes = under_all_seeds(programs, "an_asynchronous_copy_before_the_wait")
    values = [outcome.buffers[1] for outcome in outcomes]
    assert len(set(values)) == len(values)  # which of the 64 copies were early differs
