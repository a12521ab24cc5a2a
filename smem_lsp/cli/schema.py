"""``smem-lsp schema``: the JSON Schemas of what we read and write."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from smem_lsp.cli.errors import EXIT_CLEAN
from smem_lsp.cli.path_settings import rule_names
from smem_lsp.cli.terminal import use_utf8


def run(flags: argparse.Namespace) -> int:
    """Print one of them."""
    use_utf8(sys.stdout)
    if flags.of == "output":
        from smem_lsp import output

        text = (Path(output.__file__).parent / "schema.json").read_text(encoding="utf-8")
    else:
        from smem_lsp.config.schema import config_schema
        from smem_lsp.targets import TARGETS

        text = json.dumps(config_schema(rule_names(), TARGETS), indent=2) + "\n"
    sys.stdout.write(text)
    return EXIT_CLEAN
