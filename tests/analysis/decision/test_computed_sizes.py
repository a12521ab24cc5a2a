"""What is computed of parameters in a way that the solver does not follow has one value for each of them: a witness
says which, and no race rests on another one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest

from smem_lsp.analysis.decision.model import Decision, PairVerdict
from smem_lsp.analysis.values.block_shape import dims_of
from smem_lsp.engine import check
from smem_lsp.facts.decided import judge_of
from smem_lsp.rules.decision_words import why

KERNEL = """\
__global__ void k(int *out, int n, int m) {{
  __shared__ int s[64];
  int t = threadIdx.x;
  for (int i = 0; i < 4; ++i) {{
    {body}
    out[t] = s[t];
    __syncthreads();
  }}
}}
void go(int *out, int n, int m) {{ k<<<5, 33>>>(out, n, m); }}
"""
Sizes = Mapping[str, int]


def decided(body: str) -> Sequence[Decision]:
    """Of the store and the load behind it: of two warps, of lanes of one."""
    (facts,) = check(KERNEL.format(body=body)).facts
    flow = facts.analysis.launched_flow
    ((shape, verdicts),) = flow.judged
    found = judge_of(flow, verdicts, dims_of(shape)).decisions()
    return [each for each in found if not each.answer.is_safe]


@pytest.mark.parametrize(
    ("body", "meets"),
    [
        ("if ((n ^ m) > 3) s[63 - t] = 1;", lambda given: (given["n"] ^ given["m"]) > 3),
        ("s[(n ^ m) & 31] = 1;", lambda given: True),
        ("s[(i ^ gridDim.x) & 31] = 1;", lambda given: True),
    ],
)
def test_the_witness_has_what_is_computed(body: str, meets: Callable[[Sizes], bool]) -> None:
    races = decided(body)
    assert races
    for found in races:
        assert found.answer is PairVerdict.RACE and found.witness is not None
        assert meets(found.witness.sizes)


@pytest.mark.parametrize(
    "body",
    [
        "if (t < 4) s[32 + ((n ^ blockDim.x) & 31)] = 1;",  # for one in 32 of all n
        "if (t == 0) s[(m ^ blockDim.x) % 64] = 1;",
        "if (t < 3) s[(i ^ gridDim.x) * 9] = 1;",  # of 5 blocks: behind what is read
    ],
)
def test_no_race_rests_on_another_value(body: str) -> None:
    assert {each.answer for each in decided(body)} == {PairVerdict.SIZES}


BARRIER = """\
__global__ void k(int *out, int n, int m) {{
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = t;
  for (int i = 0; i < 4; ++i) {{
    if ({condition})
      __syncthreads();
    out[t] = s[t];
    __syncthreads();
  }}
}}
void go(int *out, int n, int m) {{ k<<<4, 64>>>(out, n, m); }}
"""


def parted(condition: str) -> tuple[list[str], list[str]]:
    """What is told of the barrier behind the condition, and why the kernel is undecided."""
    report = check(BARRIER.format(condition=condition))
    (facts,) = report.facts
    (verdict,) = facts.analysis.verdicts
    told = [each.message for each in report.findings if each.code == "SMEM203"]
    return told, [str(why(each.reason)) for each in verdict.reasons]


def test_the_barrier_that_some_miss_has_what_is_computed() -> None:
    told, reasons = parted("t < (i ^ gridDim.x) - 6")  # in the last turn
    assert reasons == ["some threads miss this barrier and wait at another one"]
    assert len(told) == 1 and told[0].startswith("only thread 0 of 64 reaches this barrier; ")


@pytest.mark.parametrize(
    "condition",
    [
        "t < (i ^ gridDim.x) - 7",  # of 4 blocks: never
        "t < (n ^ gridDim.x) - n - 4",
        "n < 8 && t < ((n ^ (n >> 1)) & 4)",  # not "when n ≤ 7": only from 4 on
        "t < __popc(n) - 30",
    ],
)
def test_no_missed_barrier_rests_on_another_value(condition: str) -> None:
    told, reasons = parted(condition)
    assert not told
    assert reasons == ["parameters decide whether all threads come to this barrier"]
