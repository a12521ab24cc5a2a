"""``smem-lsp explain``: the page of a rule."""

from __future__ import annotations

import argparse
import json
import sys

from smem_lsp.cli.errors import EXIT_CLEAN, UsageError
from smem_lsp.cli.terminal import terminal_style
from smem_lsp.output.coloured import markdown
from smem_lsp.rules.model import Rule


def run(flags: argparse.Namespace) -> int:
    """Print one page, or all of them. Raises UsageError."""
    if flags.all == (flags.rule is not None):
        raise UsageError("explain takes the code of a rule, or --all")
    from smem_lsp.rules.registry import RULES

    rules = list(RULES.values()) if flags.all else [_rule(flags.rule)]
    if flags.format == "json":
        from smem_lsp.output.rule_page import rule_page

        objects = [rule_page(rule) for rule in rules]
        print(json.dumps(objects if flags.all else objects[0], indent=2, ensure_ascii=False))
    else:
        text = "\n\n".join(page(rule) for rule in rules)
        sys.stdout.write(markdown(text, terminal_style(flags.color)))
    return EXIT_CLEAN


def page(rule: Rule) -> str:
    """A rule as Markdown."""
    head = f"# {rule.code} {rule.name}\n\nSeverity: {rule.default}\n\n"
    return f"{head}{rule.doc.strip()}\n"


def _rule(written: str) -> Rule:
    from smem_lsp.rules.names import UnknownRule, canonical
    from smem_lsp.rules.registry import RULES

    try:
        return RULES[canonical(written)]
    except UnknownRule as error:
        raise UsageError(str(error)) from None
