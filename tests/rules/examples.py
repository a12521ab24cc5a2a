"""The example of a rule's page, and the check of it."""

from __future__ import annotations

import pytest

from smem_lsp.config import Config
from smem_lsp.engine import FileReport, check
from smem_lsp.facts.attempts import LIMITS, Limits
from smem_lsp.rules.model import Rule
from smem_lsp.rules.registry import RULES

EVERY_RULE = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)


def example(rule: Rule, heading: str = "Example") -> str:
    """The code block below ``heading`` on the page of ``rule``."""
    block = rule.block(heading)
    assert block is not None, f"{rule.code} has no {heading}"
    return block


def checked_example(rule: Rule, config: Config | None = None) -> FileReport:
    """No example is so long that a part of its analysis is stopped: there the limits are lower."""
    limits = Limits(reading_units=0) if rule.code == "SMEM004" else LIMITS
    return check(example(rule), config=config or asked(rule), limits=limits)


def asked(rule: Rule) -> Config:
    """The defaults, with ``rule`` switched on where it is off by default."""
    return Config(severity={rule.code: rule.severity.label}) if rule.optional else Config()
