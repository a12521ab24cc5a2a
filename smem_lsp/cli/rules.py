"""``smem-lsp rules``: the table of rules."""

from __future__ import annotations

import argparse
import sys

from smem_lsp.cli.errors import EXIT_CLEAN
from smem_lsp.cli.terminal import use_utf8


def run(flags: argparse.Namespace) -> int:
    """Print code, name, highest severity and summary of every rule, by code."""
    from smem_lsp.rules.registry import RULES

    if flags.format == "json":
        from smem_lsp.output.json_text import dump
        from smem_lsp.output.rule_page import rule_row

        use_utf8(sys.stdout)
        sys.stdout.write(dump([rule_row(rule) for rule in RULES.values()]))
        return EXIT_CLEAN
    rows = [(rule.code, rule.name, rule.default, rule.summary) for rule in RULES.values()]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        cells = (f"{cell:<{size}}" for cell, size in zip(row[:3], widths, strict=True))
        print(f"{'  '.join(cells)}  {row[3]}")
    return EXIT_CLEAN
