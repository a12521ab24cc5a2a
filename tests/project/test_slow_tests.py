"""The script that compares the markers of slow tests with the times of a run."""

from __future__ import annotations

from benchmarks.slow_tests import complaints, measured

REPORT = """\
============================= slowest durations ==============================
12.40s call     tests/a.py::test_long[x, 1]
0.70s setup    tests/a.py::test_long[x, 1]
3.00s call     tests/a.py::test_long[y]
0.01s teardown tests/b.py::test_short
"""
TOOK = {"tests/a.py::test_long[x, 1]": 13.1, "tests/a.py::test_long[y]": 3.0, "tests/b.py::test_short": 0.01}


def test_the_phases_of_a_test_are_added_up() -> None:
    assert {test: round(seconds, 2) for test, seconds in measured(REPORT).items()} == TOOK


def test_a_marker_that_fits_the_slowest_case_is_right() -> None:
    stated = {
        "tests/a.py::test_long[x, 1]": 10.0,
        "tests/a.py::test_long[y]": 10.0,
        "tests/b.py::test_short": None,
    }
    assert complaints(TOOK, stated) == []


def test_a_slow_case_without_a_marker_is_missing_one() -> None:
    stated = {"tests/a.py::test_long[x, 1]": 10.0, "tests/a.py::test_long[y]": None}
    assert complaints(TOOK, stated) == ["missing: tests/a.py::test_long[y] takes 3.0 s"]


def test_a_marker_is_stale_where_the_time_is_another() -> None:
    stated = {"tests/a.py::test_long[x, 1]": 5.0, "tests/b.py::test_short": 2.0}
    assert complaints(TOOK, stated) == [
        "stale: tests/a.py::test_long says 5 s and takes 13.1 s",
        "stale: tests/b.py::test_short says 2 s and takes 0.0 s",
    ]


def test_a_test_that_is_gone_is_not_judged() -> None:
    assert complaints(TOOK, {}) == []
