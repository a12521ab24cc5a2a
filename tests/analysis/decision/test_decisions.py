"""Pairs of accesses, decided by their terms: a kernel, and what its verdict is."""

from __future__ import annotations

import importlib

import pytest

from smem_lsp.analysis.decision import answer_cache, solver, z3_library
from smem_lsp.analysis.decision.formulas import Expression, concerned, number
from smem_lsp.analysis.decision.model import PairVerdict, Verdict, VerdictKind
from smem_lsp.analysis.decision.verdict import RaceChecker
from smem_lsp.analysis.values.block_shape import dims_of
from smem_lsp.engine import check
from smem_lsp.engine.report import FileReport
from smem_lsp.facts.decided import judge_of
from smem_lsp.ir.nodes import AccessKind
from smem_lsp.rules.decision_words import why
from smem_lsp.rules.model import Severity
from smem_lsp.source.queries import PROCESS

HEAD = """\
__global__ void k(const int* __restrict__ in, int* out, int n) {
  __shared__ int s[256];
  int t = threadIdx.x;
"""
TAIL = "\n}\nvoid host(const int* in, int* out, int n) { k<<<4, 256>>>(in, out, n); }\n"


def checked(body: str, tail: str = TAIL) -> FileReport:
    return check(HEAD + body + tail)


def verdict(body: str, tail: str = TAIL) -> Verdict:
    (found,) = checked(body, tail).facts[0].analysis.verdicts
    return found


RACE_FREE = {
    "own elements": "s[t] = in[t]; out[t] = s[t];",
    "a barrier between": "s[t] = in[t]; __syncthreads(); out[t] = s[255 - t];",
    "thread 0 alone": "if (t == 0) s[7] = n; if (t == 0) out[0] = s[7];",
    "two halves": "if (t < 128) s[t] = n; if (t < 128) out[t] = s[t + 128];",
    "two slots in turn": "for (int i = 0; i < n; ++i) { s[i % 2 * 128 + t % 128 ] = 5; __syncthreads(); "
    "out[t] = s[i % 2 * 128 + 127 - t % 128]; }",
    "a halving reduction": "s[t] = in[t]; for (int w = 128; w > 0; w >>= 1) { __syncthreads(); "
    "if (t < w) s[t] += s[t + w]; } __syncthreads(); out[t] = s[0];",
    "rows of a pitch that the launch passes": "if (t < 8) for (int i = 0; i < n; ++i) s[t * n + i] = in[i];",
    "steps of the whole block": "for (int i = t; i < 256; i += blockDim.x) s[i] = in[i];",
    "both arms of a branch that all take": "if (n > 3) s[t] = 1; else s[255 - t] = 2;",
    "everybody stores the same": "s[0] = n;",
    "the block's own elements by xor": "s[t ^ 5] = in[t]; out[t] = s[t ^ 5];",
}

RACY = {
    "the other end, as far as n says": "if (t < n) s[t] = in[t]; if (t < n) out[t] = s[n - 1 - t];",
    "a barrier that not all launches run": "s[t] = in[t]; if (n > 3) __syncthreads(); out[t] = s[255 - t];",
    "over the back edge": "for (int i = 0; i < n; ++i) { s[t] = in[i]; __syncthreads(); out[t] = s[255 - t]; }",
    "the neighbour": "s[t] = in[t]; out[t] = t < 255 ? s[t + 1] : 0;",
}

UNDECIDED = {
    "a loop that may run no turn": "s[t] = in[t]; for (int i = 0; i < n; ++i) __syncthreads(); out[t] = s[255 - t];",
    "where loaded numbers say": "s[in[t] & 255] = t;",
    "a call between that may wait": "s[t] = in[t]; wait_for_all(out); out[t] = s[255 - t];",
}


@pytest.mark.parametrize("body", RACE_FREE.values(), ids=RACE_FREE)
def test_what_is_race_free(body: str) -> None:
    found = verdict(body)
    assert (found.kind, found.apart) == (VerdictKind.RACE_FREE, found.pairs), found.reasons


@pytest.mark.parametrize("body", RACY.values(), ids=RACY)
def test_what_races(body: str) -> None:
    found = verdict(body)
    assert found.kind is VerdictKind.RACY, found.reasons


@pytest.mark.parametrize("body", UNDECIDED.values(), ids=UNDECIDED)
def test_what_is_not_decided_has_a_reason(body: str) -> None:
    found = verdict(body)
    assert found.kind is VerdictKind.UNDECIDED and found.reasons


def test_a_ring_races_only_where_turns_without_a_barrier_lie_between() -> None:
    ring = (
        "for (int i = 0; i < n; ++i) {{ s[i % 4 * 64 + t] = i; {} out[t] = s[(i + 2) % 4 * 64 + 63 - t]; }}"
    )
    tail = TAIL.replace("256>>>", "64>>>")
    assert verdict(ring.format("__syncthreads();"), tail).kind is VerdictKind.RACE_FREE
    assert verdict(ring.format(""), tail).kind is VerdictKind.RACY


def test_lanes_that_a_warp_barrier_orders_do_not_race() -> None:
    tail = TAIL.replace("256>>>", "32>>>")
    assert verdict("s[t] = in[t]; __syncwarp(); out[t] = s[31 - t];", tail).kind is VerdictKind.RACE_FREE
    assert verdict("s[t] = in[t]; out[t] = s[31 - t];", tail).kind is VerdictKind.RACY


def test_a_loop_that_the_grid_never_enters_shows_nothing() -> None:
    body = "for (int i = 7; i < blockIdx.x; ++i) { s[t] = i; out[t] = s[255 - t]; }"
    assert not [each for each in checked(body).findings if each.code == "SMEM201"]
    assert verdict(body).kind is VerdictKind.RACE_FREE


def test_a_race_behind_a_value_that_all_threads_load_is_likely() -> None:
    body = "if (in[blockIdx.x] > 7) return; s[t] = in[t]; out[t] = s[255 - t];"
    (found,) = [each for each in checked(body).findings if each.code == "SMEM201"]
    assert (found.severity, found.verdict) == (Severity.WARNING, "likely")


def test_one_thread_that_data_let_store_races_with_all_that_read() -> None:
    body = (
        "for (int i = 0; i < n; ++i) { out[t] = s[0]; if (t == 0 && in[i] > 4) s[0] = i; __syncthreads(); }"
    )
    (found,) = [each for each in checked(body).findings if each.code == "SMEM201"]
    assert found.verdict == "likely"


def test_what_a_run_shows_in_code_that_is_never_reached_is_not_told() -> None:
    body = "if (n > n) { s[t] = 1; out[t] = s[255 - t]; }"
    assert not [each for each in checked(body).findings if each.code == "SMEM201"]


def test_an_index_that_leaves_its_row_is_no_witness() -> None:
    text = """\
struct Two { int a[64]; int b[64]; };
__global__ void k(const int* in, int* out, int n) {
  __shared__ Two s[2];
  int t = threadIdx.x;
  if (t < 64) s[0].a[t] = in[t];
  if (t < n) out[t] = s[0].b[t];
}
void host(const int* in, int* out, int n) { k<<<1, 64>>>(in, out, n); }
"""
    assert not [each for each in check(text).findings if each.code in ("SMEM201", "SMEM202")]


def test_without_the_solver_nothing_is_decided_and_it_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(z3_library, "library", lambda: None)
    answer_cache.ANSWERS.forget(PROCESS)
    solver.ANSWERS.forget(PROCESS)
    found = verdict("s[t] = in[t * 3 + 77]; out[t + 123] = s[t];")
    assert found.kind is VerdictKind.UNDECIDED
    assert any("z3-solver" in str(why(each.reason)) for each in found.reasons)


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        # a loop that runs until no lane has a turn left: at least while a lane's own says so
        (
            "for (int i = t; __any_sync(~0u, i < 36); i += 256) s[i] = in[i]; out[t] = s[255 - t];",
            PairVerdict.RACE,
        ),
        ("if (__any_sync(~0u, t < 9)) s[t] = in[t]; out[t] = s[255 - t];", PairVerdict.RACE),
        ("if (__any_sync(~0u, t < 9)) s[t] = in[t]; out[t] = s[t];", PairVerdict.APART),
        # whether nobody votes for it is not known of two lanes
        ("if (!__any_sync(~0u, t < 9)) s[t] = in[t]; out[t] = s[255 - t];", PairVerdict.UNDECIDED),
    ],
)
def test_a_vote_is_won_where_the_thread_votes_for_it(body: str, answer: PairVerdict) -> None:
    (facts,) = checked(body).facts
    flow = facts.analysis.launched_flow
    judge = RaceChecker(flow.followed, flow.verdicts, (256, 1, 1))
    found = {each.answer for each in judge.decisions() if each.second.kind is AccessKind.READ}
    assert found == {answer}


# ---- questions -------------------------------------------------------------------------------------------------------


def test_what_was_decided_for_the_races_is_not_asked_again_for_the_verdict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (facts,) = checked("s[t] = in[t]; out[t] = s[255 - t]; __syncthreads(); s[t] = 1; out[t] = s[t];").facts
    flow = facts.analysis.launched_flow
    shape, verdicts = flow.judged[0]
    judge = judge_of(flow, verdicts, dims_of(shape))
    told = list(judge.decisions(to_tell=True))
    monkeypatch.setattr(solver, "solve", None)
    every = list(judge.decisions())

    assert {each.answer for each in told} == {PairVerdict.APART, PairVerdict.RACE}
    assert [each for each in every if each.answer is PairVerdict.RACE] == [
        each for each in told if each.answer is PairVerdict.RACE
    ]
    assert judge is judge_of(flow, verdicts, dims_of(shape))


def test_what_is_not_decided_for_want_of_effort_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    (facts,) = checked("s[t] = in[t]; out[t] = s[255 - t];").facts
    flow = facts.analysis.launched_flow
    judge = RaceChecker(flow.followed, flow.verdicts, (256, 1, 1))
    with monkeypatch.context() as patched:
        patched.setattr(importlib.import_module("smem_lsp.analysis.decision.verdict"), "_TO_DECIDE", 0)
        patched.setattr(importlib.import_module("smem_lsp.analysis.decision.verdict"), "_LEAST_EFFORT", 0)
        patched.setattr(importlib.import_module("smem_lsp.analysis.decision.verdict"), "_LEAST_TO_TELL", 0)
        tired = [each.answer for each in judge.decisions()]

    # what every thread of the block touches is looked at without effort
    assert PairVerdict.UNDECIDED in tired and PairVerdict.RACE not in tired
    assert PairVerdict.RACE in [each.answer for each in judge.decisions()]


def test_the_effort_of_a_question_is_that_of_its_first_answer() -> None:
    x = Expression("v0")
    ask = [x > 5, x < 7, (x * x).differs(37)]
    first = solver.solve(ask, [x], 10_000)
    again = solver.solve(ask, [x], 10_000)
    assert (first.outcome, first.values) == (solver.Satisfiability.SOME, {"v0": 6})
    assert again == first and first.effort > 0


def test_no_effort_gives_no_answer() -> None:
    x, y, z = (Expression(f"v{i}") for i in range(3))
    hard = [(x * x * x + y * y * y).equals(z * z * z), x > 100, y > 100, z > 100]
    assert solver.solve(hard, [], 1_000).outcome is solver.Satisfiability.UNKNOWN


def test_numbers_are_folded_and_division_rounds_down() -> None:
    assert [(number(-7) // 2).known, (number(-7) % 2).known] == [-4, 1]
    assert (number(3) < 4).known is True
    assert (Expression("v0") + 0).text == "v0"


def test_formulas_that_share_no_variable_do_not_matter() -> None:
    a, b, c = (Expression(f"v{i}") for i in range(3))
    about, near, far = a < b, b < 9, c > 1
    assert concerned(about, [about, near, far]) == [about, near]


def test_answers_have_an_order_from_safe_to_told() -> None:
    ranks = list(PairVerdict)
    assert ranks[0] is PairVerdict.APART and ranks[-1] is PairVerdict.RACE
    assert not any(each.is_safe and each.is_race for each in ranks)
