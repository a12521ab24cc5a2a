"""Every pattern is judged as listed, with the block that is launched and without a launch in sight."""

from __future__ import annotations

import pytest
from carets import codes

from analysis.hazards import patterns, warp_patterns
from analysis.hazards.patterns import Pattern
from smem_lsp.engine import check
from smem_lsp.rules.model import Severity

JUDGED = ("SMEM103", "SMEM201", "SMEM202", "SMEM203", "SMEM205", "SMEM208", "SMEM402")
CASES = [
    pytest.param(pattern, number, instead, wanted, id=f"{pattern.name}, {number}")
    for pattern in (*patterns.PATTERNS, *warp_patterns.PATTERNS)
    for number, instead, wanted in ((0, "", pattern.right), *pattern.variants)
]


def told(text: str) -> set[str]:
    return set(codes(check(text), among=JUDGED))


@pytest.mark.sampled(one_in=4)
@pytest.mark.parametrize(("pattern", "number", "instead", "wanted"), CASES)
def test_with_the_block_in_sight(
    pattern: Pattern, number: int, instead: str, wanted: tuple[str, ...]
) -> None:
    assert told(pattern.text(number, instead)) == set(wanted)


@pytest.mark.sampled(one_in=4)
@pytest.mark.parametrize(("pattern", "number", "instead", "wanted"), CASES)
def test_without_a_launch_nothing_else_is_said(
    pattern: Pattern, number: int, instead: str, wanted: tuple[str, ...]
) -> None:
    text = pattern.text(number, instead).partition("void host")[0]
    report = check(text)
    found = [finding for finding in report.findings if finding.code in JUDGED]
    lanes = {"SMEM205"} if "SMEM201" in wanted else set()  # the block may be a single warp
    assert {finding.code for finding in found} <= set(wanted) | lanes
    for finding in found:
        if finding.code in ("SMEM201", "SMEM202", "SMEM205", "SMEM208"):
            assert finding.verdict == "likely" and finding.severity >= Severity.WARNING


def test_a_proved_race_is_an_error_and_a_likely_one_a_warning() -> None:
    flag = "__shared__ int s[256];\nconst int t = threadIdx.x;\n"
    proved = Pattern("", flag + "s[t] = (int)in[t];\n@1\nout[t] = s[255 - t];")
    likely = Pattern(
        "", flag + "s[t] = (int)in[t];\n@2\nif (s[0]) {\n  s[t] = t;\n  @1\n  out[t] = s[255 - t];\n}"
    )
    for pattern, verdict, severity in (
        (proved, "proved", Severity.ERROR),
        (likely, "likely", Severity.WARNING),
    ):
        found = [finding for finding in check(pattern.text(1)).findings if finding.code == "SMEM201"]
        assert {(each.verdict, each.severity) for each in found} == {(verdict, severity)}


def test_there_are_enough_of_them() -> None:
    assert len(CASES) >= 80
