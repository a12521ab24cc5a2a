"""Schedules come from the seed: the same seed, the same run; other seeds, other orders of the threads and blocks."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pytest

from executor import Programs, Run
from executor.cases import built, source

SOURCES = {
    "last_one_wins": source(
        "last_one_wins",
        """
        __shared__ int a[1];
        if (tid == 0) a[0] = -1;
        __syncthreads();
        atomicExch(&a[0], tid);
        __syncthreads();
        out[tid] = a[0];
        """,
    ),
    "order_of_arrival": source(
        "order_of_arrival",
        """
        __shared__ int next;
        if (tid == 0) next = 0;
        __syncthreads();
        out[atomicAdd(&next, 1)] = tid;
        """,
    ),
    "order_of_blocks": source(
        "order_of_blocks",
        """
        __device__ int next;
        __global__ void k(const float* in, float* out, int n) { out[atomicAdd(&next, 1)] = blockIdx.x; }
        """,
        threads=1,
        blocks=16,
    ),
}
SEEDS = range(40)


@pytest.fixture(scope="module")
def programs() -> Iterator[Programs]:
    with built(SOURCES) as all_of_them:
        yield all_of_them


@pytest.mark.parametrize("name", SOURCES)
def test_a_run_can_be_repeated(name: str, programs: Programs) -> None:
    runs = [Run(name, seed) for seed in SEEDS]
    assert programs.run_all(runs) == programs.run_all(runs)


@pytest.mark.parametrize("name", SOURCES)
def test_schedules_depend_on_the_seed(name: str, programs: Programs) -> None:
    outcomes = programs.run_all([Run(name, seed) for seed in SEEDS])
    assert len({outcome.buffers[1] for outcome in outcomes}) > 10
    assert all(outcome.clean for outcome in outcomes)


def test_the_schedule_tells_runs_apart(programs: Programs) -> None:
    outcomes = programs.run_all([Run("order_of_arrival", seed) for seed in SEEDS])
    by_schedule: dict[int, set[bytes]] = {}
    for outcome in outcomes:
        by_schedule.setdefault(outcome.schedule, set()).add(outcome.buffers[1])
    assert len(by_schedule) > 10
    assert all(len(results) == 1 for results in by_schedule.values())


def test_every_order_of_the_threads_occurs(programs: Programs) -> None:
    """Ascending and descending as well, which find most races."""
    orders = []
    for outcome in programs.run_all([Run("order_of_arrival", seed) for seed in SEEDS]):
        orders.append([int(value) for value in struct.unpack("64f", outcome.buffers[1][:256])])
    assert all(sorted(order) == list(range(64)) for order in orders)
    assert list(range(64)) in orders and list(range(63, -1, -1)) in orders
    warps = [[thread // 32 for thread in order] for order in orders]
    assert any(warp == sorted(warp) and order != sorted(order) for warp, order in zip(warps, orders))


def test_variables_start_afresh_in_every_run(programs: Programs) -> None:
    first, again = programs.run_all([Run("order_of_blocks", 1)] * 2)
    assert first == again
