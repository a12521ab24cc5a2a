"""Which cases of long series a run takes."""

from __future__ import annotations

import pytest
import turns
from turns import Case, left_out, share

COMMITS = [f"commit {number}" for number in range(60)]
SERIES = [Case(f"tests/a.py::test_long[{at}]", 4) for at in range(17)]


@pytest.fixture(autouse=True)
def commit(monkeypatch: pytest.MonkeyPatch) -> None:
    at_commit(monkeypatch, COMMITS[0])
    monkeypatch.setattr(turns, "ALL", False)


def at_commit(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(turns, "commit", lambda: name)


def test_a_commit_runs_one_case_in_so_many_and_always_the_same() -> None:
    out = left_out(SERIES)
    assert len(SERIES) - len(out) in (4, 5)
    assert left_out(SERIES) == out


def test_commits_take_turns_until_all_has_run(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: set[str] = set()
    for name in COMMITS:
        at_commit(monkeypatch, name)
        ran |= {case.name for case in SERIES} - left_out(SERIES)
    assert ran == {case.name for case in SERIES}


def test_series_do_not_take_turns_together(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len({turns.turn(4, f"series {number}") for number in range(40)}) == 4


def test_of_a_short_series_one_case_runs() -> None:
    few = [Case("tests/a.py::test_few[x]", 7), Case("tests/a.py::test_few[y]", 7)]
    assert len(left_out(few)) == 1
    assert left_out([Case("tests/a.py::test_one", 7)]) == set()


def test_what_belongs_to_the_nightly_does_not_run_before() -> None:
    assert left_out([Case("tests/a.py::test_b", 0), Case("tests/a.py::test_c")]) == {"tests/a.py::test_b"}


@pytest.mark.parametrize("asked", ["tests/a.py::test_long", "tests/a.py::test_long[3]"])
def test_what_the_command_line_names_runs(asked: str) -> None:
    assert left_out([*SERIES, Case("tests/a.py::test_b", 0)], [asked]) == {"tests/a.py::test_b"}


def test_a_file_is_not_named_case_by_case() -> None:
    assert left_out(SERIES, ["tests/a.py"]) == left_out(SERIES)


def test_all_is_all_of_a_series(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(share(range(100), 4, "a")) == 25
    monkeypatch.setattr(turns, "ALL", True)
    assert share(range(100), 4, "a") == range(100)
