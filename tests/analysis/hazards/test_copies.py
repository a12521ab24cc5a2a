"""Asynchronous copies: right pipelines are silent, wrong ones are told, and what is offered makes them right."""

from __future__ import annotations

import pytest
from carets import codes, expect

from analysis.hazards.copy_patterns import PATTERNS, Copies
from smem_lsp.engine import apply, check

JUDGED = ("SMEM103", "SMEM201", "SMEM202", "SMEM203", "SMEM205", "SMEM206", "SMEM208", "SMEM402")
RIGHT = [pytest.param(pattern, id=pattern.name) for pattern in PATTERNS]
BROKEN = [
    pytest.param(pattern, number, id=f"{pattern.name}, {number}")
    for pattern in PATTERNS
    for number in range(len(pattern.broken))
]


def told(text: str) -> set[str]:
    return set(codes(check(text), among=JUDGED))


@pytest.mark.parametrize("pattern", RIGHT)
def test_what_is_right_is_silent(pattern: Copies) -> None:
    expect(pattern.text(), among=JUDGED)
    expect(pattern.text().partition("void host")[0], among=JUDGED)


@pytest.mark.sampled(one_in=4)
@pytest.mark.parametrize(("pattern", "number"), BROKEN)
def test_what_is_wrong_is_told(pattern: Copies, number: int) -> None:
    assert told(pattern.text(number)) == set(pattern.broken[number][2])


# What nothing is offered for: copies of a group or bound to an object are waited for in their own ways.
NOT_ENDED = {
    f"{pattern.name}, {number}"
    for pattern in PATTERNS
    if "memcpy_async(block" in pattern.body or "bar)" in pattern.body
    for number in range(len(pattern.broken))
} | {
    "a copy of each thread, in a stage of its pipeline, 0",
    "two stages of a pipeline that helpers fill and wait for, 0",
}


@pytest.mark.sampled(one_in=4)
@pytest.mark.parametrize(("pattern", "number"), BROKEN)
def test_what_is_offered_ends_it(pattern: Copies, number: int) -> None:
    text = pattern.text(number)
    for _ in range(6):
        report = check(text)
        found = [finding for finding in report.findings if finding.code in JUDGED]
        fixes = [fix for finding in found for fix in report.fixes_for(finding) if fix.edits]
        if not fixes:
            break
        text = apply(text, fixes[0])
    assert bool(told(text)) == (f"{pattern.name}, {number}" in NOT_ENDED), text
