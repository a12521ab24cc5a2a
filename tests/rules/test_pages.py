"""The page of a rule keeps its promises: its example triggers the rule, its counter-example does not."""

from __future__ import annotations

import re
from pathlib import Path

from rules.examples import EVERY_RULE, asked, checked_example, example

import smem_lsp.rules
from smem_lsp.engine import apply, check
from smem_lsp.fixes.model import Safety
from smem_lsp.rules.model import Rule
from smem_lsp.rules.registry import ALL_NAMES, RULES, find_rule
from smem_lsp.rules.words import Words

PACKAGE = Path(next(iter(smem_lsp.rules.__path__)))


@EVERY_RULE
def test_a_page_says_why_and_what_and_how_far(rule: Rule) -> None:
    headings = re.findall(r"^## (.*)$", rule.doc, re.MULTILINE)
    assert headings == ["Why", "Example", "Use instead", "Fix", "Limits"]
    first, second = rule.doc.strip().splitlines()[:2]
    assert first.endswith(".") and len(first) <= 130
    assert second == ""


@EVERY_RULE
def test_the_example_triggers_its_rule(rule: Rule) -> None:
    report = checked_example(rule)
    found = [finding for finding in report.findings if finding.code == rule.code]
    assert len(found) == 1
    assert found[0].severity >= rule.severity


@EVERY_RULE
def test_a_line_that_a_message_names_is_a_part_of_its_own(rule: Rule) -> None:
    """So that it moves with the text, and is no part of what makes a finding the same one in another run."""
    for finding in checked_example(rule).findings:
        parts = finding.words.parts if isinstance(finding.words, Words) else (finding.words,)
        assert not [each for each in parts if isinstance(each, str) and re.search(r"\blines? \d", each)]


@EVERY_RULE
def test_the_counter_example_does_not(rule: Rule) -> None:
    """Nor does any other: who follows one page is not sent to the next."""
    assert check(example(rule, "Use instead"), config=asked(rule)).findings == ()


@EVERY_RULE
def test_a_safe_fix_turns_the_example_into_the_counter_example(rule: Rule) -> None:
    report = checked_example(rule)
    (finding,) = (finding for finding in report.findings if finding.code == rule.code)
    for fix in report.fixes_for(finding):
        if rule.code == "SMEM502":  # host code changes with it: never safe, and the example has none
            assert (fix.safety, fix.edits) == (Safety.DISPLAY, ())
            continue
        assert fix.safety is Safety.SAFE
        assert apply(example(rule), fix) == example(rule, "Use instead")


def test_the_rules_that_can_be_fixed() -> None:
    """And the pages say so: of SMEM203 a barrier is moved, but not that of its example, which stands too late."""
    with_fix = set()
    for rule in RULES.values():
        report = checked_example(rule)
        with_fix |= {finding.code for finding in report.findings if report.fixes_for(finding)}
    races = {"SMEM201", "SMEM202", "SMEM205", "SMEM206", "SMEM209"}
    host = {"SMEM601", "SMEM602", "SMEM603"}
    layouts = {"SMEM301", "SMEM302", "SMEM303", "SMEM401", "SMEM502"}
    assert with_fix == {"SMEM101", "SMEM204", *layouts, *races, *host}
    for rule in RULES.values():
        (says,) = re.findall(r"^## Fix\n\n(.*?)^## ", rule.doc, re.MULTILINE | re.DOTALL)
        fixed = rule.code in {*with_fix, "SMEM203"}
        assert says.startswith("The quick fix " if fixed else "No quick fix"), rule.code
        assert len(says.split()) > (15 if fixed else 8), rule.code  # what it does, or what to do


def test_every_module_of_a_rule_is_registered() -> None:
    modules = {path.stem for path in PACKAGE.glob("smem*_*.py")}
    assert {f"{rule.code.lower()}_{rule.name.replace('-', '_')}" for rule in RULES.values()} == modules


def test_codes_and_names_are_unique() -> None:
    assert list(RULES) == sorted(RULES)
    assert len(set(ALL_NAMES.values())) == len(ALL_NAMES)
    assert all(re.fullmatch(r"SMEM\d{3}", code) for code in ALL_NAMES)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", name) for name in ALL_NAMES.values())


@EVERY_RULE
def test_a_rule_is_found_by_its_code_and_by_its_name(rule: Rule) -> None:
    assert find_rule(rule.code.lower()) is find_rule(rule.name.upper()) is rule
