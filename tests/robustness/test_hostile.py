"""Hostile texts end within the work and the memory that a check may take, and what was cut is told.

Every fifth of them, at a third of its size: ``python -m tests.benchmarks hostile`` tries all of them at full size.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from robustness.hostile import HOSTILE, ended
from robustness.trying import try_text
from smem_lsp.engine import check
from smem_lsp.facts.stopped import Why

_FIFTH = sorted(HOSTILE)[::5]


@pytest.mark.slow(seconds=8)
@pytest.mark.sampled(one_in=5)
@pytest.mark.skipif(not hasattr(__import__("os"), "wait4"), reason="asks the system what a process has used")
@pytest.mark.parametrize("name", _FIFTH)
def test_a_hostile_text_has_an_end(name: str, tmp_path: Path) -> None:
    hostile = HOSTILE[name]
    outcome = try_text(hostile.make(max(hostile.count // 3, 1)), tmp_path)
    assert outcome.problems == [], outcome
    sys.stdout.write(f"{outcome.seconds:.1f} s, {outcome.megabytes} MB, {outcome.stopped}\n")


@pytest.mark.parametrize(("name", "text"), list(ended()), ids=[name for name, _ in ended()])
def test_what_once_ended_a_check_is_answered(name: str, text: str) -> None:
    report = check(text)
    assert [each.report for each in report.stopped if each.why is Why.DEFECT] == []
    assert report.statistics.functions
