"""What the turn of a loop says about its variables, and in which turns two accesses can meet."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import Verdict, VerdictKind
from smem_lsp.engine import check
from smem_lsp.rules.decision_words import why

KERNEL = """\
__global__ void k(const int* __restrict__ in, int* out, int n) {{
  __shared__ int s[256];
  int t = threadIdx.x;
  {}
}}
void host(const int* in, int* out, int n) {{ k<<<4, {}>>>(in, out, n); }}
"""


def verdict(body: str, threads: int = 64) -> Verdict:
    (found,) = check(KERNEL.format(body, threads)).facts[0].analysis.verdicts
    return found


STAGES = (
    "int b = {}; for (int i = 0; i < n; ++i) {{ s[b * 64 + t] = in[i]; __syncthreads(); "
    "out[t] = s[b * 64 + 63 - t]; b = {}; }}"
)
SWAPPED = (
    "int* a = s; int* b = s + 64; s[t] = in[t]; __syncthreads(); for (int i = 0; i < n; ++i) {{ "
    "b[t] = a[63 - t]; __syncthreads(); {} }}"
)
BITONIC = (
    "s[t] = in[t]; __syncthreads(); for (int d = 2; d <= 32; d *= 2) for (int j = d / 2; j > 0; j /= 2) {{ "
    "int o = t {} j; if (o > t && o < 32) {{ int c = s[t]; s[t] = s[o]; s[o] = c; }} __syncthreads(); }}"
)

RACE_FREE = {
    "a stage that is flipped": STAGES.format("0", "b ^ 1"),
    "a stage that is counted round": STAGES.format("1", "(b + 1) % 3"),
    "a stage that starts again": STAGES.format("0", "b + 1 == 3 ? 0 : b + 1"),
    "pointers that are swapped": SWAPPED.format("int* c = a; a = b; b = c;"),
    "a butterfly of halving distances": BITONIC.format("^"),
    "a step that other variables of few turns decide": "int j = 4 * t; int k = 8; if (t < 16) "
    "for (int i = 0; i < 8; ++i) { k -= 4; if (k < 4) { s[j] = i; k += 8; ++j; } }",
    "the first turn comes before every barrier": "if (t < 32) s[t + 32] = n; for (int i = 0; i < 4; ++i) { "
    "out[t] = s[i == 0 ? t / 2 : t]; __syncthreads(); }",
    "the last turn comes behind every barrier": "for (int i = 0; i < 4; ++i) { __syncthreads(); "
    "if (i < 3) s[t] = i; } out[t] = s[63 - t];",
    "a turn that the condition behind the body forbids": "int i = 0; do { if (i >= n && i > 0) s[0] = t; ++i; } "
    "while (i < n);",
    "a loop of one thread": "for (int i = t; i < 1; i += 64) s[i] = in[0]; if (t == 0) out[0] = s[0];",
    "nobody comes by a return": "return; s[0] = t;",
}

RACY = {
    "turns that agree on a number and not on what it is made of": "for (int i = t; i < 32; i += 64) s[i / 32] = i;",
    "the first threads of a loop in one place": "for (int i = t; i < 2; i += 64) { s[t] = 0; s[max(i, 1) >> 1] = 5; }",
    "a stage that stays": STAGES.format("0", "b"),
    "two pointers that stay": SWAPPED.format("if (n < 0) { int* c = a; a = b; b = c; }").replace(
        "s + 64", "s"
    ),
    "the neighbour instead of the partner": BITONIC.format("+"),
    "a first turn that meets what stands before": "s[t] = n; for (int i = 0; i < 4; ++i) { "
    "out[t] = s[i == 0 ? 63 - t : t]; __syncthreads(); }",
    "a last turn that meets what follows": "for (int i = 0; i < 4; ++i) { __syncthreads(); "
    "if (i == 3) s[t] = i; } out[t] = s[63 - t];",
}


@pytest.mark.parametrize("body", RACE_FREE.values(), ids=RACE_FREE)
def test_what_is_race_free(body: str) -> None:
    found = verdict(body)
    assert found.kind is VerdictKind.RACE_FREE, found.reasons


@pytest.mark.parametrize("body", RACY.values(), ids=RACY)
def test_what_races(body: str) -> None:
    found = verdict(body)
    assert found.kind is VerdictKind.RACY, found.reasons


def test_a_pitch_below_the_width_of_a_row_is_no_race() -> None:
    found = verdict("if (t < 32) for (int i = 0; i < 4; ++i) s[t * n + i] = in[i];", 32)
    assert found.kind is VerdictKind.UNDECIDED
    assert "parameters decide" in {str(why(each.reason)) for each in found.reasons}


def test_nothing_is_told_behind_a_barrier_that_some_threads_may_miss() -> None:
    missed = "for (int i = t; i < 80; i += 16) __syncthreads(); s[t] = n; out[t] = s[63 - t];"
    assert verdict(missed).kind is VerdictKind.UNDECIDED


COLLECTIVE = """\
#include <cub/cub.cuh>
__global__ void k(float* out, const float* in, int n) {{
  using Reduce = cub::BlockReduce<float, 256>;
  __shared__ typename Reduce::TempStorage storage;
  __shared__ float total;
  for (int i = 0; i < {turns}; ++i) {{
    float sum = Reduce(storage).Sum(in[threadIdx.x + i]);
    if (threadIdx.x == 0) total = sum;
    {barrier}
    out[threadIdx.x] = total;
    {barrier}
  }}
}}
"""


@pytest.mark.parametrize(
    ("barrier", "kind"), [("__syncthreads();", VerdictKind.RACE_FREE), ("", VerdictKind.RACY)]
)
def test_a_collective_orders_its_own_threads_and_no_others(barrier: str, kind: VerdictKind) -> None:
    (found,) = check(COLLECTIVE.format(turns="n", barrier=barrier)).facts[0].analysis.verdicts
    assert found.kind is kind, found.reasons


def test_two_collectives_need_a_barrier_for_one_storage() -> None:
    text = COLLECTIVE.format(turns="1", barrier="__syncthreads();").replace(
        "if (threadIdx.x == 0)", "sum += Reduce(storage).Sum(sum); if (threadIdx.x == 0)"
    )
    (found,) = check(text).facts[0].analysis.verdicts
    assert found.kind is not VerdictKind.RACE_FREE


ANEW = (
    "int i = t; bool more = {}; while (more) {{ s[i] = in[i]; i += 64; more = {}; }} "
    "if (t == 1) s[64] = in[0]; __syncthreads(); out[t] = s[64];"
)


@pytest.mark.parametrize(
    ("before", "again", "free"),
    [
        ("i < 64", "i < 64", True),
        ("n > 3 && i < 64", "n > 3 && i < 64", True),
        ("i < 65", "i < 65", False),
        ("i < 64", "i < n", False),
        ("i < 64", "i < 64 + t", False),
        ("i < 64", "i <= 64", False),
    ],
)
def test_what_is_computed_anew_in_each_turn(before: str, again: str, free: bool) -> None:
    assert (verdict(ANEW.format(before, again)).kind is VerdictKind.RACE_FREE) is free
