"""Which part of a long series a run takes: the one whose turn it is by the commit, or all of it (``tests/run --all``).

Series are fixed: a commit chooses where to look in what is known to pass, never something new.
"""

from __future__ import annotations

import functools
import hashlib
import os
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

Item = TypeVar("Item")

ALL = os.environ.get("SMEM_TEST_ALL") == "1"
"""Everything runs: ``bash tests/run --all``."""

_NO_COMMIT = "no commit"  # of an archive without git


@functools.cache
def commit() -> str:
    """The commit that chooses, ``SMEM_TEST_COMMIT`` or git's; always the same word where there is none. The processes
    of one run get it from the first."""
    named = os.environ.get("SMEM_TEST_COMMIT")
    if named:
        return named
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return _NO_COMMIT
    return done.stdout.strip() if done.returncode == 0 else _NO_COMMIT


def turn(of: int, name: str = "") -> int:
    """A number below ``of``, by the commit and ``name``: series with different names do not take turns together."""
    digest = hashlib.sha256(f"{commit()} {name}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % of


def share(series: Sequence[Item], one_in: int, name: str) -> Sequence[Item]:
    """Every ``one_in``-th of a series, with ``--all`` the whole."""
    return series if ALL else series[turn(one_in, name) :: one_in]


@dataclass(frozen=True)
class Case:
    """A case of a test. ``one_in``: of how many cases of its test one runs; 0: none before the nightly."""

    name: str  # "tests/a.py::test_b[c]"
    one_in: int = 1

    @property
    def test(self) -> str:
        return self.name.partition("[")[0]


def left_out(cases: Iterable[Case], named: Iterable[str] = ()) -> set[str]:
    """Names of the cases whose turn it is not. At least one of each series runs, and so do all of a test or a class
    that the command line names."""
    asked = {argument.partition("[")[0] for argument in named if "::" in argument}
    series: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        above = case.test.rpartition("::")[0]  # a class, or the file
        if not asked.intersection((case.test, above)):
            series[case.test].append(case)
    out: set[str] = set()
    for test, each in series.items():
        one_in = min(each[0].one_in, len(each))
        first = turn(one_in, test) if one_in else 0
        out.update(case.name for at, case in enumerate(each) if not one_in or at % one_in != first)
    return out
