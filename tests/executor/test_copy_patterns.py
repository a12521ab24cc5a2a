"""The pipelines that SMEM206 is tested with: runs of what is called right have no race, of what is called wrong one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from analysis.hazards.copy_patterns import ASSEMBLER, PATTERNS, Copies

from executor import Launch, Programs, Source, build, filled, zeroed
from executor.cases import under_all_seeds

# The executor knows no predicates: a branch instead.
PREDICATED = ASSEMBLER[
    ASSEMBLER.index('asm volatile("{') : ASSEMBLER.index("}\n__device__ __forceinline__ void cp_async_commit")
]
BRANCH = 'if (wanted) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(at), "l"(from));\n'


def _source(pattern: Copies, number: int) -> Source:
    text = pattern.text(number).partition("void host")[0].replace(PREDICATED, BRANCH)
    arguments = (filled("float", 16 * 1024), zeroed("float", 256), pattern.n)
    return Source(f"{pattern.name}, {number}", text, Launch("k", (1,), (256,), arguments))


CASES = [
    (f"{pattern.name}, {number}", not codes)
    for pattern in PATTERNS
    for number, codes in [(-1, ()), *((i, each[2]) for i, each in enumerate(pattern.broken))]
]


@pytest.fixture(scope="module")
def programs() -> Iterator[Programs]:
    with build([_source(p, n) for p in PATTERNS for n in range(-1, len(p.broken))]) as found:
        yield found


@pytest.mark.parametrize(("name", "right"), CASES)
def test_runs_agree(name: str, right: bool, programs: Programs) -> None:
    outcomes = under_all_seeds(programs, name)
    assert any(outcome.races for outcome in outcomes) == (not right)
