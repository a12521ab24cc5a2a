"""Asynchronous copies in verdicts: threads of their own from the issue to the wait of the thread that issued them."""

from __future__ import annotations

import pytest

from analysis.hazards.copy_patterns import PATTERNS, Copies
from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check

RIGHT = [pytest.param(pattern, id=pattern.name) for pattern in PATTERNS]
BROKEN = [
    pytest.param(pattern, number, id=f"{pattern.name}, {number}")
    for pattern in PATTERNS
    for number in range(len(pattern.broken))
]
# What copies bound to an object of libcu++ wait for orders threads, too, which is not followed; and whether a wait of
# one kind covers copies of another is not said.
NOT_DECIDED = {
    "a copy of each thread, bound to a barrier",
    "a copy of each thread, in a stage of its pipeline, 2",
}

LOOP = """\
#include <cuda_pipeline.h>
__global__ void k(const float* in, float* out, int n) {
  __shared__ float s[4][256];
  int t = threadIdx.x;
  float sum = 0;
%s
  out[t] = sum;
}
void host(const float* in, float* out, int n) { k<<<4, 256>>>(in, out, n); }
"""
COPY = "__pipeline_memcpy_async(&s[%s][t], &in[t], 4);"
READ = "sum += s[%s][255 - t];"


def kind(text: str) -> VerdictKind:
    (found,) = check(text).facts[0].analysis.verdicts
    return found.kind


def loop(body: str) -> VerdictKind:
    return kind(LOOP % body)


def copy(slot: str) -> str:
    return COPY % slot


def read(slot: str) -> str:
    return READ % slot


@pytest.mark.parametrize("pattern", RIGHT)
def test_what_is_right_is_race_free(pattern: Copies) -> None:
    wanted = VerdictKind.UNDECIDED if pattern.name in NOT_DECIDED else VerdictKind.RACE_FREE
    assert kind(pattern.text()) is wanted
    assert kind(pattern.text().partition("void host")[0]) is wanted


@pytest.mark.sampled(one_in=4)
@pytest.mark.parametrize(("pattern", "number"), BROKEN)
def test_what_is_wrong_is_racy(pattern: Copies, number: int) -> None:
    wanted = VerdictKind.RACY if pattern.broken[number][2] else VerdictKind.RACE_FREE
    if f"{pattern.name}, {number}" in NOT_DECIDED:
        wanted = VerdictKind.UNDECIDED
    assert kind(pattern.text(number)) is wanted


def stages(many: int, left: int, *, barrier: str = "__syncthreads();", slots: int = 4) -> str:
    """A pipeline of ``many`` stages, whose wait leaves ``left`` groups open."""
    return f"""
  for (int p = 0; p < {many - 1}; ++p) {{
    if (p < n) {copy("p")}
    __pipeline_commit();
  }}
  for (int i = 0; i < n; ++i) {{
    __pipeline_wait_prior({left});
    {barrier}
    if (i + {many - 1} < n) {copy(f"(i + {many - 1}) % {slots}")}
    __pipeline_commit();
    {read(f"i % {slots}")}
  }}"""


@pytest.mark.parametrize("many", [2, 3, 4])
def test_as_many_groups_stay_open_as_there_are_stages_ahead(many: int) -> None:
    assert loop(stages(many, many - 2, slots=many)) is VerdictKind.RACE_FREE
    assert loop(stages(many, many - 1, slots=many)) is VerdictKind.RACY
    assert loop(stages(many, many - 2, barrier="", slots=many)) is VerdictKind.RACY
    assert loop(stages(many, many - 2, barrier="__syncwarp();", slots=many)) is VerdictKind.RACY


def test_more_slots_than_stages_leave_room() -> None:
    assert loop(stages(3, 1, slots=4)) is VerdictKind.RACE_FREE
    assert loop(stages(4, 2, slots=3)) is VerdictKind.RACY


def in_last_turn(last: str) -> str:
    """A group is committed only in front of further turns."""
    return f"""
  {copy("0")}
  __pipeline_commit();
  for (int i = 0; i < n; ++i) {{
    if (i + 1 < n) {{
      {copy("(i + 1) % 2")}
      __pipeline_commit();
      __pipeline_wait_prior(1);
    }} {last}
    __syncthreads();
    {read("i % 2")}
    __syncthreads();
  }}"""


def test_the_last_turn_commits_no_group() -> None:
    assert loop(in_last_turn("else __pipeline_wait_prior(0);")) is VerdictKind.RACE_FREE
    assert loop(in_last_turn("")) is VerdictKind.RACY
    assert loop(in_last_turn("else __pipeline_wait_prior(1);")) is VerdictKind.RACY


def test_no_barrier_ends_a_copy() -> None:
    issue = f"{copy('0')} __pipeline_commit(); __syncthreads();"
    assert loop(f"{issue} sum += s[0][t]; __pipeline_wait_prior(0);") is VerdictKind.RACY
    assert loop(f"{issue} __pipeline_wait_prior(0); sum += s[0][t];") is VerdictKind.RACE_FREE
    assert loop(f"{issue} __pipeline_wait_prior(0); {read('0')}") is VerdictKind.RACY
    assert loop(f"{issue} sum += s[1][t]; __pipeline_wait_prior(0);") is VerdictKind.RACE_FREE


def test_a_copy_of_no_group_is_not_waited_for() -> None:
    assert loop(f"{copy('0')} __pipeline_wait_prior(0); __syncthreads(); {read('0')}") is VerdictKind.RACY
    every = 'asm volatile("cp.async.wait_all;");'
    assert loop(f"{copy('0')} {every} __syncthreads(); {read('0')}") is VerdictKind.RACE_FREE


def test_threads_wait_for_their_own_copies_only() -> None:
    half = f"if (t < 128) {{ {copy('0')} __pipeline_commit(); }}"
    behind = "__syncthreads(); " + read("0")
    assert loop(f"{half} __pipeline_wait_prior(0); {behind}") is VerdictKind.RACE_FREE
    assert loop(f"{half} if (t < 128) __pipeline_wait_prior(0); {behind}") is not VerdictKind.RACY
    assert loop(f"{half} if (t >= 128) __pipeline_wait_prior(0); {behind}") is not VerdictKind.RACE_FREE


def test_a_number_of_groups_that_is_not_known_is_no_proof() -> None:
    wait = f"{copy('0')} __pipeline_commit(); __pipeline_wait_prior(n); __syncthreads(); {read('0')}"
    assert loop(wait) is VerdictKind.UNDECIDED


PIPELINE = """\
#include <cuda/pipeline>
__global__ void k(const float* in, float* out, int n) {
  __shared__ float s[2][256];
  int t = threadIdx.x;
  auto pipe = cuda::make_pipeline();
  float sum = 0;
%s
  out[t] = sum;
}
void host(const float* in, float* out, int n) { k<<<4, 256>>>(in, out, n); }
"""
STAGE = """
  pipe.producer_acquire();
  cuda::memcpy_async(&s[%s][t], &in[t], sizeof(float), pipe);
  pipe.producer_commit();
"""


def test_a_wait_is_for_the_oldest_stage_of_a_pipeline() -> None:
    first, second = STAGE % "0", STAGE % "1"
    got = "pipe.consumer_wait(); __syncthreads();"
    done = "pipe.consumer_release();"
    assert kind(PIPELINE % f"{first}{second}{got}{read('0')}{done}") is VerdictKind.RACE_FREE
    assert kind(PIPELINE % f"{first}{second}{got}{read('1')}{done}") is not VerdictKind.RACE_FREE
    assert kind(PIPELINE % f"{first}{second}{got}{done}{got}{read('1')}{done}") is VerdictKind.RACE_FREE
    assert kind(PIPELINE % f"{second}{got}{done}{first}{read('1')}{got}{read('0')}") is VerdictKind.RACE_FREE
