"""``smem-lsp rules``: the table of rules."""

from __future__ import annotations

import argparse

from smem_lsp.cli.errors import EXIT_CLEAN


def run(flags: argparse.Namespace) -> int:
    """Print code, name, highest severity and summary of every rule, by code."""
    from smem_lsp.rules.registry import RULES

    rows = [(rule.code, rule.name, rule.severity.label, rule.summary) for rule in RULES.values()]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        cells = (f"{cell:<{size}}" for cell, size in zip(row[:3], widths, strict=True))
        print(f"{'  '.join(cells)}  {row[3]}")
    return EXIT_CLEAN
