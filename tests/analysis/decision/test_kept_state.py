"""Kernels that keep their state in one shared object: few threads move it on, and all ask for its members."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.analysis.values.block_shape import dims_of
from smem_lsp.engine import check
from smem_lsp.facts.decided import judge_of
from smem_lsp.rules.decision_words import why
from smem_lsp.terms.language import Const

HEAD = """\
struct State { int flags; int mask; int at; int width; int many[64]; };
__device__ void step(State* s, int lane) {
  if (s->at >= s->width) return;
  __syncwarp();
  s->many[lane] += 1;
}
__device__ void next(State* s) {
  if (s->at >= s->width) return;
  s->at += 4;
}
__global__ void k(const int* __restrict__ in, int* out) {
  __shared__ State state;
  State* s = &state;
  int t = threadIdx.x, lane = t % 32;
  if (t == 0) { s->flags = in[0]; s->mask = in[1]; s->at = in[2]; s->width = in[3]; }
  s->many[t] = 0;
  __syncthreads();
"""
TAIL = """
  __syncthreads();
  out[t] = s->many[t];
}
void host(const int* in, int* out) { k<<<4, 64>>>(in, out); }
"""


def told(body: str) -> list[tuple[str, str, int]]:
    """Findings: code, severity, line of the body."""
    races = ("SMEM201", "SMEM202", "SMEM205")
    text = HEAD + body + TAIL
    found = (each for each in check(text).findings if each.code in races)
    return [
        (each.code, each.severity.name, text.count("\n", len(HEAD), each.span.start) + 1) for each in found
    ]


def reasons(body: str) -> list[str]:
    (verdict,) = check(HEAD + body + TAIL).facts[-1].analysis.verdicts
    return (
        [] if verdict.kind is VerdictKind.RACE_FREE else [str(why(each.reason)) for each in verdict.reasons]
    )


TURNS = """
if ((s->flags {both} s->mask) == 0) return;
while (s->at < s->width) {{
  {barrier}
  if (t == 0) s->at += 4;
  __syncthreads();
}}
"""


@pytest.mark.parametrize("both", ["&", "|", "^", "*", ">>"])
def test_loaded_values_are_chosen_so_that_what_is_computed_of_them_lets_threads_through(both: str) -> None:
    race = TURNS.format(both=both, barrier="")
    assert told(race) == [("SMEM201", "WARNING", 5)]
    assert "a race that no run shows" not in reasons(race)
    assert told(TURNS.format(both=both, barrier="__syncthreads();")) == []


def test_what_a_thread_asks_for_again_is_the_same() -> None:
    """Who returns from ``step`` because all is done does not go on in ``next``, and the others wait."""
    assert told("if (t < 32) { step(s, lane); if (lane == 0) next(s); }") == []


@pytest.mark.parametrize(
    "between",
    [
        "",
        "if (in[4] > 0) s->many[lane] = 1;",  # another member
        "if (in[4] > 0) { __syncwarp(); if (lane == 0) s->width = in[5]; __syncwarp(); }",  # on another way
    ],
)
def test_no_write_on_the_way_changes_it(between: str) -> None:
    done = "bool done = s->at >= s->width; {}  if (!done) __syncwarp(); if (lane == 0 && s->at < s->width) s->at += 4;"
    assert told(f"if (t < 32) {{ {done.format(between)} }}") == []


def test_who_comes_to_one_place_is_asked_first() -> None:
    """Which elements of ``many`` threads touch has to be worked out; who moves ``at`` on is plain to see."""
    body = """
s->many[t * in[0] & 63] += s->many[(t + in[1]) & 63];
__syncthreads();
while (s->at < s->width) { if (t == 0) s->at += 4; s->many[in[t] & 63] = t; __syncthreads(); }
"""
    flow = check(HEAD + body + TAIL).facts[-1].analysis.launched_flow
    ((shape, verdicts),) = flow.judged
    decided = judge_of(flow, verdicts, dims_of(shape)).decisions(to_tell=True)
    buffer, offset = flow.kernel.buffers[0], flow.values.offset
    both = [(offset(each.first, buffer), offset(each.second, buffer)) for each in decided]
    one_place = [isinstance(first, Const) and first is second for first, second in both]
    worked_out = [any(each is not None and not each.known for each in pair) for pair in both]
    last = max(at for at, each in enumerate(one_place) if each)
    assert any(worked_out) and not any(worked_out[:last])
    assert {True, False} == {*one_place}
