"""Questions to the solver: what an answer depends on, and when it is given up."""

from __future__ import annotations

import random
import threading

import pytest

from smem_lsp.analysis.decision import solver
from smem_lsp.analysis.decision.formulas import Expression, Formula, both, either, negated
from smem_lsp.analysis.decision.solver import ANSWERS, Satisfiability, Solution, solve
from smem_lsp.source import Budget, OutOfBudget, Superseded
from smem_lsp.source.native_memory import rest
from smem_lsp.source.queries import PROCESS

A, B, C, D = (Expression(f"v{number}") for number in (0, 1, 4, 9))
EFFORT = 60_000
HARD = [(A * A * A + B * B * B + C * C * C).equals(114), A > 1000, B < -1000]  # nobody knows


def in_block(*threads: Expression) -> list[Formula]:
    return [both(each >= 0, each < 256) for each in threads]


def two_threads_meet(stride: int, ahead: int) -> list[Formula]:
    return [*in_block(A, B), A.differs(B), (A * stride).equals(B * stride + ahead)]


QUESTIONS = [
    *(two_threads_meet(stride, ahead) for stride in (1, 4, 12) for ahead in (0, 3, 4, 24)),
    [*in_block(A, B), C >= 256, A.differs(B), (A + C * D).equals(B + C * (D + 1))],
    [*in_block(A, B), (A // 32).equals(B // 32), negated((A % 32).equals(31)), A.equals(B + 31)],
    [*in_block(A), either((A * C).equals(91), (A * C).equals(95)), A > 1, C > 1],
]


def asked(questions: list[list[Formula]]) -> list[Solution]:
    ANSWERS.forget(PROCESS)
    return [solve(each, wanted, EFFORT) for each in questions for wanted in ((), (A, B))]


def test_two_threads_with_neighbouring_elements_are_apart() -> None:
    assert solve(two_threads_meet(4, 3), (), EFFORT).outcome is Satisfiability.NONE


def test_values_are_those_under_which_the_formulas_hold() -> None:
    found = solve(two_threads_meet(4, 24), (A, B), EFFORT)

    assert found.outcome is Satisfiability.SOME
    assert found.values["v0"] == found.values["v1"] + 6


def test_a_variable_that_is_in_no_formula_may_be_anything() -> None:
    found = solve(in_block(A), (A, D), EFFORT)
    assert set(found.values) == {"v0", "v9"}


def test_an_answer_does_not_depend_on_what_was_asked_before() -> None:
    order = list(range(len(QUESTIONS)))
    random.Random(1).shuffle(order)
    one, other = asked(QUESTIONS), asked([QUESTIONS[place] for place in order])

    for later, place in enumerate(order):
        assert other[2 * later : 2 * later + 2] == one[2 * place : 2 * place + 2]


def test_questions_that_differ_in_the_names_of_variables_are_one() -> None:
    ANSWERS.forget(PROCESS)
    one = solve([*in_block(A, B), A.equals(B + 7)], (A,), EFFORT)
    other = solve([*in_block(D, C), D.equals(C + 7)], (D,), EFFORT)

    assert ANSWERS.count(PROCESS) == 1
    assert one.values["v0"] == other.values["v9"]


@pytest.mark.parametrize(
    ("formula", "linear"),
    [
        (A * 4 < B, True),
        ((A // 32).equals(B % 32), True),
        (A * B < 4, False),
        (either(A < 4, negated((A // B).equals(2))), False),
    ],
)
def test_a_question_is_linear_without_products_of_unknown_numbers(formula: Formula, linear: bool) -> None:
    assert formula.linear is linear


def test_a_question_ends_when_nobody_waits_for_the_answer() -> None:
    """The thread that asks is in the solver and comes to no checkpoint: another one has to look."""
    asking = threading.current_thread()
    ANSWERS.forget(PROCESS)
    with Budget(stale=lambda: threading.current_thread() is not asking), pytest.raises(Superseded):
        solve(HARD, (), 1 << 31)

    assert not ANSWERS.count(PROCESS)
    assert solve(two_threads_meet(4, 3), (), EFFORT).outcome is Satisfiability.NONE


def test_no_question_is_put_when_nobody_waits_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    ANSWERS.forget(PROCESS)
    monkeypatch.setattr(solver, "_put", None)
    with pytest.raises(Superseded), Budget(stale=lambda: True):
        solve(two_threads_meet(4, 24), (), EFFORT)


def test_without_any_effort_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver, "_put", None)
    assert solve(two_threads_meet(4, 24), (), 0).outcome is Satisfiability.UNKNOWN


def test_a_question_that_is_given_up_costs_all_of_its_effort() -> None:
    found = solve(HARD, (), 5_000)
    assert found.outcome is Satisfiability.UNKNOWN
    assert found.effort >= 5_000


def test_a_question_is_put_where_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a Python built for WebAssembly: nobody looks whether the answer is still wanted."""

    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    ANSWERS.forget(PROCESS)
    with Budget(stale=lambda: False):
        assert solve(two_threads_meet(4, 24), (A, B), EFFORT).outcome is Satisfiability.SOME


def test_who_rests_lets_go_of_the_context_that_is_kept() -> None:
    ANSWERS.forget(PROCESS)
    before = solve(two_threads_meet(4, 3), (), EFFORT)
    assert solver._local.kept is not None

    rest()
    assert solver._local.kept is None
    ANSWERS.forget(PROCESS)
    assert solve(two_threads_meet(4, 3), (), EFFORT) == before


def test_a_question_whose_steps_are_no_effort_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some steps of the solver on products are not counted: with this effort it would go on for an hour."""
    monkeypatch.setattr(solver, "_MOST_MILLISECONDS", 200)
    for _ in range(2):  # it is not asked again
        with pytest.raises(OutOfBudget, match="time"):
            solve(HARD, (), 4_000_000_000)
