"""Host programs, correct and broken: what is found in each is what its label says, and nothing else."""

from __future__ import annotations

from collections import Counter

import pytest

from host.programs import PROGRAMS, Program
from smem_lsp.config import Config
from smem_lsp.engine import apply, check

# one rule speaks of nearly every program: it has cases of its own
_ORDERS = Config(select=("SMEM601", "SMEM602", "SMEM603"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_what_is_found_is_what_the_label_says(program: Program) -> None:
    report = check(program.text, path=str(program.path), config=_ORDERS)
    found = {(report.source.line_number(each.span.start), each.code) for each in report.findings}
    assert found == program.expected
    assert report.stopped == ()


def test_there_are_sixty_of_every_kind() -> None:
    assert len(PROGRAMS) >= 60
    kinds = Counter(code for program in PROGRAMS for code in {code for _, code in program.expected} or {""})
    assert set(kinds) == {"", "SMEM601", "SMEM602", "SMEM603"} and min(kinds.values()) >= 8


def test_nothing_is_said_where_the_rules_are_off() -> None:
    assert all(check(program.text, path=str(program.path)).findings == () for program in PROGRAMS[::8])


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_fix_ends_its_finding_and_makes_no_other(program: Program) -> None:
    report = check(program.text, path=str(program.path), config=_ORDERS)
    for finding in report.findings:
        for fix in report.fixes_for(finding):
            after = check(apply(program.text, fix), path=str(program.path), config=_ORDERS)
            assert Counter(each.code for each in after.findings) == Counter(
                each.code for each in report.findings if each is not finding
            )
