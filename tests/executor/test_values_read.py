"""What threads read from shared memory is compared, too: a wrong value shows although it changes nothing outside."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from executor import Programs
from executor.cases import built, source, under_all_seeds
from executor.rewriting import differences

_TEXT = "__shared__ float a[64]; a[tid] = {value}; __syncthreads(); out[tid] = {use};"
_POINTERS = """
    __shared__ const float* first[64];
    __shared__ float other[{bytes}];
    other[tid] = tid; first[tid] = in + {at};
    __syncthreads();
    out[tid] = *first[63 - tid] + other[63 - tid];
"""
_ARRIVAL = """
    __shared__ int next; __shared__ int order[64];
    if (tid == 0) next = 0;
    __syncthreads();
    order[atomicAdd(&next, 1)] = tid;
    __syncthreads();
    out[tid] = order[tid] < 64;
"""
SOURCES = {
    "rounded away": source("rounded away", _TEXT.format(value="tid", use="a[63 - tid] + 1e30f")),
    "rounded away, other": source("rounded away, other", _TEXT.format(value="tid + 1", use="a[63 - tid] + 1e30f")),
    "another element": source("another element", _TEXT.format(value="tid", use="a[62 - tid & 63] + 1e30f")),
    "in halves": source(
        "in halves", _TEXT.format(value="tid", use="tid < 32 ? a[63 - tid] + 1e30f : 1e30f + a[63 - tid]")
    ),
    "pointers": source("pointers", _POINTERS.format(bytes=64, at="tid")),
    "pointers, moved": source("pointers, moved", _POINTERS.format(bytes=4096, at="tid")),
    "pointers, others": source("pointers, others", _POINTERS.format(bytes=64, at="(tid + 1024)")),
    "order of arrival": source("order of arrival", _ARRIVAL),
}  # fmt: skip


@pytest.fixture(scope="module")
def programs() -> Iterator[Programs]:
    with built(SOURCES) as found:
        yield found


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ("rounded away", "rounded away, other", False),
        ("rounded away", "another element", False),
        ("rounded away", "in halves", True),
        ("pointers", "pointers, moved", True),
        ("pointers", "pointers, others", False),
        ("order of arrival", "order of arrival", True),
    ],
)
def test_other_values_are_told(before: str, after: str, same: bool, programs: Programs) -> None:
    originals, others = (under_all_seeds(programs, name) for name in (before, after))
    assert differences(originals, originals) == ""
    told = differences(originals, others)
    assert told in (
        ("",) if same else ("other values read from shared memory", "other bytes in the global buffers [1]")
    )
    assert bool(told) is not same


def test_values_do_not_depend_on_the_schedule_unless_the_program_does(programs: Programs) -> None:
    assert len({outcome.read for outcome in under_all_seeds(programs, "rounded away")}) == 1
    assert len({outcome.read for outcome in under_all_seeds(programs, "order of arrival")}) > 1
