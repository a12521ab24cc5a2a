"""Which tests lack the marker ``slow``, and whose marker is stale, by the times of a run.

The times are those that ``bash tests/run --durations=0 > durations.txt`` writes. A test is slow when a case of it takes
over 2 s, setup and teardown included. Its marker is stale when no case of it takes 1 s, or when it states more than
twice or less than half of what the slowest one takes. Tests that the run did not contain are not judged.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.runner.declared import Figure, Missing, Told, Wrong, benchmark
from benchmarks.runner.figures import spread

SLOW = 2.0  # seconds from which on a test has the marker
QUICK = 1.0  # seconds below which it is none any more: in between a busy machine decides
_LINE = re.compile(r"(\d+\.\d+)s (?:call|setup|teardown) +(\S.*)")


class Markers:
    """A pytest plugin that notes the tests there are, and the seconds that their markers state."""

    def __init__(self) -> None:
        self.stated: dict[str, float | None] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            marker = item.get_closest_marker("slow")
            if marker is None or marker.kwargs:  # a folder that is slow as a whole states no seconds
                self.stated[item.nodeid] = None if marker is None else float(marker.kwargs["seconds"])


def measured(report: str) -> dict[str, float]:
    """Seconds of each test in the output of ``pytest --durations=0``."""
    seconds: dict[str, float] = defaultdict(float)
    for line in report.splitlines():
        if found := _LINE.fullmatch(line.strip()):
            seconds[found[2]] += float(found[1])
    return seconds


def complaints(took: dict[str, float], stated: dict[str, float | None]) -> list[str]:
    """A line for each test without its marker and for each stale one. Cases that share a marker are judged by the
    slowest of them."""
    found: list[str] = []
    slowest: dict[tuple[str, float], float] = defaultdict(float)
    for test, seconds in took.items():
        marked = stated.get(test)
        if marked is not None:
            key = test.partition("[")[0], marked
            slowest[key] = max(slowest[key], seconds)
        elif test in stated and seconds > SLOW:
            found.append(f"missing: {test} takes {seconds:.1f} s")
    for (test, marked), seconds in slowest.items():
        if seconds < QUICK or not marked / 2 <= seconds <= 2 * marked:
            found.append(f"stale: {test} says {marked:g} s and takes {seconds:.1f} s")
    return sorted(found)


@benchmark(unit="s", better="lower")
def measure(durations: Path) -> Iterator[Told]:
    took = measured(durations.read_text("utf-8"))
    if not took:
        raise Missing(f"{durations} has no times: bash tests/run --durations=0 > {durations}")
    files = sorted(file for file in {test.partition("::")[0] for test in took} if Path(file).is_file())
    markers = Markers()
    with contextlib.redirect_stdout(io.StringIO()):
        pytest.main(["--collect-only", "-q", *files], [markers])
    lines = complaints(took, markers.stated)
    yield Figure("tests", len(took), "", "neither")
    yield Figure("all tests", sum(took.values()))
    yield from spread("test", list(took.values()), (0.5, 0.99, 1))
    yield Figure("markers that are missing or stale", len(lines), "")
    yield from map(Wrong, lines)
