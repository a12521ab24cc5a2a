"""Races: each is found under every schedule, at its lines; what is ordered is not reported."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pytest

from executor import Programs, Source
from executor.cases import built, marked, source, under_all_seeds

# Both accesses of each race stand on lines that end in `// race`.
RACY = {
    "read_of_another_threads_element": """
        __shared__ float a[64];
        a[tid] = in[tid];  // race
        out[tid] = a[63 - tid];  // race
    """,
    "write_over_what_others_read": """
        __shared__ float a[64];
        a[tid] = in[tid];
        __syncthreads();
        float v = a[63 - tid];  // race
        a[tid] = v + 1;  // race
        __syncthreads();
        out[tid] = a[tid];
    """,
    "two_writes_of_one_element": """
        __shared__ float a[1];
        a[0] = tid;  // race
        __syncthreads();
        out[tid] = a[0];
    """,
    "scalar": """
        __shared__ float a;
        if (tid == 0) a = in[0];  // race
        out[tid] = a;  // race
    """,
    "back_edge_of_a_loop": """
        __shared__ float a[64];
        float v = 0;
        for (int i = 0; i < 3; ++i) {
          a[tid] = in[i];  // race
          __syncthreads();
          v += a[63 - tid];  // race
        }
        out[tid] = v;
    """,
    "pointer_of_another_type": """
        __shared__ double a[32];
        float* p = reinterpret_cast<float*>(a);
        p[tid] = in[tid];  // race
        const double* q = a;
        out[tid] = (float)q[(tid + 1) % 32];  // race
    """,
    "members_of_a_union": """
        __shared__ union { float f[64]; int i[64]; } u;
        u.f[tid] = in[tid];  // race
        out[tid] = u.i[63 - tid];  // race
    """,
    "a_byte_of_a_word": """
        __shared__ unsigned char a[256];
        a[4 * tid + 3] = 1;  // race
        const int* words = reinterpret_cast<const int*>(a);
        out[tid] = words[63 - tid] != 0;  // race
        a[4 * tid] = a[4 * tid + 1] = a[4 * tid + 2] = 1;  // race
    """,
    "dynamic_shared_memory": """
        extern __shared__ float a[];
        float* p = a + 16;
        p[tid] = in[tid];  // race
        out[tid] = p[63 - tid];  // race
    """,
    "a_warp_barrier_does_not_order_warps": """
        __shared__ float a[64];
        a[tid] = in[tid];  // race
        __syncwarp();
        out[tid] = a[63 - tid];  // race
    """,
    "lanes_of_a_warp_are_not_ordered": """
        volatile __shared__ float a[64];
        a[tid] = in[tid];  // race
        out[tid] = a[tid ^ 1];  // race
    """,
    "a_warp_barrier_of_other_lanes": """
        __shared__ float a[64];
        if (tid % 32 < 16) {
          a[tid] = in[tid];  // race
          __syncwarp(0x0000FFFFu);
        } else {
          a[tid] = a[tid - 16];  // race
        }
        __syncthreads();
        out[tid] = a[tid];
    """,
    "a_shuffle_orders_no_memory": """
        __shared__ float a[64];
        a[tid] = in[tid];  // race
        float v = __shfl_down_sync(0xFFFFFFFFu, in[tid], 1);
        out[tid] = v + a[tid ^ 1];  // race
    """,
    "an_atomic_and_a_plain_read": """
        __shared__ int a[1];
        if (tid == 0) a[0] = 0;
        __syncthreads();
        atomicAdd(&a[0], 1);  // race
        out[tid] = a[0];  // race
    """,
    "a_named_barrier_of_a_part": """
        __shared__ float a[96];
        a[tid] = in[tid];  // race
        if (tid < 64) asm volatile("bar.sync 1, 64;" ::: "memory");
        if (tid < 64) out[tid] = a[95 - tid];  // race
    """,
    "an_arrival_does_not_wait": """
        __shared__ float a[64];
        a[tid] = in[tid];  // race
        if (tid < 32) asm volatile("bar.arrive 2, 64;");
        else asm volatile("bar.sync 2, 64;");
        out[tid] = a[63 - tid];  // race
    """,
    "in_a_device_function": """
        __device__ void put(float* p, float v) {
          *p = v;  // race
        }
        __device__ float get(const float* p) {
          return *p;  // race
        }
        __global__ void k(const float* in, float* out, int n) {
          __shared__ float a[64];
          put(&a[threadIdx.x], in[threadIdx.x]);
          out[threadIdx.x] = get(&a[63 - threadIdx.x]);
        }
    """,
    "in_a_lambda": """
        __shared__ float a[64];
        auto get = [&](int i) {
          return a[i];  // race
        };
        a[tid] = in[tid];  // race
        out[tid] = get(63 - tid);
    """,
    "a_structure_that_a_call_returns": """
        struct Pair { int key; float value; };
        __device__ Pair make(int key, float value) { return {key, value}; }
        __global__ void k(const float* in, float* out, int n) {
          __shared__ Pair a[64];
          a[threadIdx.x] = make(threadIdx.x, in[threadIdx.x]);  // race
          Pair p = a[63 - threadIdx.x];  // race
          out[threadIdx.x] = p.key + p.value;
        }
    """,
    "memcpy_of_an_array": """
        __shared__ float a[64];
        if (tid == 0) memcpy(a, in, sizeof a);  // race
        out[tid] = a[tid];  // race
    """,
}

CLEAN = {
    "a_block_barrier": """
        __shared__ float a[64];
        a[tid] = in[tid];
        __syncthreads();
        float v = a[63 - tid];
        __syncthreads();
        a[tid] = v;
        __syncthreads();
        out[tid] = a[63 - tid];
    """,
    "own_elements_and_reads_of_all": """
        __shared__ float a[64];
        a[tid] = in[tid];
        a[tid] += 1;
        __syncthreads();
        for (int i = 0; i < 64; ++i) out[tid] += a[i];
    """,
    "neighbouring_bytes": """
        __shared__ unsigned char a[64];
        a[tid] = tid;
        __syncthreads();
        out[tid] = a[63 - tid];
    """,
    "a_warp_barrier_within_the_warp": """
        __shared__ float a[64];
        a[tid] = in[tid];
        __syncwarp();
        float v = a[tid ^ 1];
        __syncwarp();
        a[tid] = v;
        __syncwarp();
        out[tid] = a[tid ^ 2];
    """,
    "a_warp_barrier_of_half_a_warp": """
        __shared__ float a[64];
        a[tid] = in[tid];
        if (tid % 32 < 16) {
          __syncwarp(0x0000FFFFu);
          out[tid] = a[tid ^ 1];
        }
    """,
    "atomics_only": """
        __shared__ int a[4];
        if (tid < 4) a[tid] = 0;
        __syncthreads();
        atomicAdd(&a[tid % 4], tid);
        __syncthreads();
        out[tid] = a[tid % 4];
    """,
    "a_named_barrier_of_all_who_read": """
        __shared__ float a[96];
        if (tid < 64) {
          a[tid] = in[tid];
          asm volatile("bar.sync %0, %1;" :: "r"(3), "n"(64) : "memory");
          out[tid] = a[63 - tid];
        }
    """,
    "producers_arrive_and_consumers_wait": """
        __shared__ float a[32];
        if (tid < 32) {
          a[tid] = in[tid];
          asm volatile("barrier.arrive 1, 64;" ::: "memory");
        } else {
          asm volatile("barrier.sync 1, 64;" ::: "memory");
          out[tid] = a[63 - tid];
        }
    """,
    "a_barrier_object": """
        __shared__ cuda::barrier<cuda::thread_scope_block> bar;
        __shared__ float a[64];
        if (tid == 0) init(&bar, 64);
        __syncthreads();
        for (int i = 0; i < 3; ++i) {
          a[tid] = in[tid + i];
          bar.arrive_and_wait();
          out[tid] += a[63 - tid];
          auto token = bar.arrive();
          bar.wait(std::move(token));
        }
    """,
    "groups_of_threads": """
        namespace cg = cooperative_groups;
        __global__ void k(const float* in, float* out, int n) {
          cg::thread_block block = cg::this_thread_block();
          auto tile = cg::tiled_partition<16>(block);
          __shared__ float a[64];
          const int tid = block.thread_rank();
          a[tid] = in[tid];
          tile.sync();
          out[tid] = a[tid ^ 5] + tile.shfl_xor(in[tid], 1);
          cg::sync(block);
          cg::memcpy_async(block, a, in, sizeof a);
          cg::wait(block);
          out[tid] += a[63 - tid];
        }
    """,
    "threads_that_have_returned": """
        __shared__ float a[64];
        a[tid] = in[tid];
        if (tid >= 48) return;
        __syncthreads();
        out[tid] = a[63 - tid];
    """,
    "blocks_do_not_share": """
        __shared__ float a[64];
        a[tid] = in[blockIdx.x * 64 + tid];
        __syncthreads();
        out[blockIdx.x * 64 + tid] = a[63 - tid];
    """,
}
EXTRA = {
    "a_named_barrier_of_a_part": {"threads": 96},
    "a_named_barrier_of_all_who_read": {"threads": 96},
    "dynamic_shared_memory": {"dynamic_bytes": 320},
    "blocks_do_not_share": {"blocks": 3},
}
SOURCES: dict[str, Source] = {
    name: source(name, text, **EXTRA.get(name, {})) for name, text in {**RACY, **CLEAN}.items()
}


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


def test_a_race_names_the_variable_the_byte_and_both_threads(programs: Programs) -> None:
    for outcome in under_all_seeds(programs, "read_of_another_threads_element"):
        for race in outcome.races:
            kinds = {race.first.kind: race.first, race.second.kind: race.second}
            assert race.variable == "a"
            assert race.byte == 4 * kinds["write"].thread == 4 * (63 - kinds["read"].thread)
            assert not race.first.asynchronous
        assert outcome.race_count == 64


def test_the_results_are_those_of_the_kernel(programs: Programs) -> None:
    outcome = programs.run("atomics_only")
    sums = struct.unpack("64f", outcome.buffers[1][:256])
    assert list(sums[:4]) == [sum(range(first, 64, 4)) for first in range(4)]
