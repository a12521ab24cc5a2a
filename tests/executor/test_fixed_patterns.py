"""The barriers and waits that are offered for broken patterns: with them, runs have no race and give the same bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from analysis.hazards import copy_patterns, patterns, table_patterns, warp_patterns
from analysis.hazards.copy_patterns import Copies
from analysis.hazards.patterns import Pattern
from analysis.hazards.test_copies import NOT_ENDED as COPIES_NOT_ENDED
from analysis.repairs.test_barrier_fixes import NOT_ENDED
from turns import share

from executor import Launch, Programs, Source, build, filled, zeroed
from executor.cases import under_all_seeds
from executor.test_copy_patterns import BRANCH, PREDICATED
from smem_lsp.engine import apply, check

RACES = ("SMEM201", "SMEM202", "SMEM205", "SMEM206")
# Its slots are mixed up for good: a copy overwrites one that is in flight, which is not told, as the two may be equal.
MIXED_UP = "four stages with a rotating slot, 2"


@dataclass(frozen=True)
class Case:
    """``right``: the text that gives the same bytes, when the broken one has lost nothing but barriers and waits."""

    name: str
    broken: str
    right: str | None
    block: tuple[int, ...]
    n: int
    dynamic: int = 0

    def source(self, name: str, text: str) -> Source:
        text = text.partition("void host")[0].replace(PREDICATED, BRANCH)
        text = f"#include <cub/block/block_reduce.cuh>\n{text}" if "cub::" in text else text
        arguments = (filled("float", 1 << 16), zeroed("float", 1 << 16), self.n)
        return Source(name, text, Launch("k", (1,), self.block, arguments, self.dynamic))

    def fixed(self) -> str:
        """The text with all that is offered for its races."""
        text = self.broken
        for _ in range(8):
            report = check(text)
            told = [finding for finding in report.findings if finding.code in RACES]
            fixes = [fix for finding in told for fix in report.fixes_for(finding) if fix.edits]
            if not fixes:
                break
            text = apply(text, fixes[0])
        return text


def _plain(pattern: Pattern) -> Iterator[Case]:
    block = tuple(int(number) for number in re.findall(r"\d+", pattern.block.removeprefix("dim3")))
    for number, instead, codes in ((0, "", pattern.right), *pattern.variants):
        name = f"{pattern.name}, {number}"
        if set(codes) & set(RACES) and name not in NOT_ENDED:
            right = pattern.text() if number and not instead else None
            yield Case(
                name,
                pattern.text(number, instead),
                right,
                block,
                256 if pattern.dynamic else 64,
                pattern.dynamic,
            )


def _copying(pattern: Copies) -> Iterator[Case]:
    for number, (old, new, _) in enumerate(pattern.broken):
        name = f"{pattern.name}, {number}"
        if name not in COPIES_NOT_ENDED and name != MIXED_UP:
            same = not new or ("wait" in old and "wait" in new and "=" not in old)
            right = pattern.text() if same else None
            yield Case(name, pattern.text(number), right, (256,), pattern.n)


PLAIN = (*patterns.PATTERNS, *warp_patterns.PATTERNS, *table_patterns.PATTERNS)
ALL_CASES = [
    *(case for pattern in PLAIN for case in _plain(pattern)),
    *(case for pattern in copy_patterns.PATTERNS for case in _copying(pattern)),
]
CASES = share(ALL_CASES, 3, "fixed patterns")


@pytest.fixture(scope="module")
def programs() -> Iterator[Programs]:
    sources = [case.source(f"{case.name}, fixed", case.fixed()) for case in CASES]
    sources += [case.source(f"{case.name}, right", case.right) for case in CASES if case.right is not None]
    with build(sources) as found:
        yield found


@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
def test_a_fixed_kernel_has_no_race_and_one_result(case: Case, programs: Programs) -> None:
    outcomes = under_all_seeds(programs, f"{case.name}, fixed")
    assert not any(outcome.races or outcome.deadlock or outcome.crash for outcome in outcomes), case.fixed()
    first = outcomes[0].buffers
    assert all(outcome.buffers == first for outcome in outcomes)
    if case.right is not None:
        right = under_all_seeds(programs, f"{case.name}, right")
        assert all(outcome.buffers == first for outcome in right)
