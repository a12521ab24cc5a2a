"""Which colours and characters stdout can show."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from smem_lsp.output.style import Style


def terminal_style(color: str = "auto") -> Style:
    """Colours and characters for stdout. ``auto``: colours on a terminal, unless ``NO_COLOR`` is set."""
    encoding = (sys.stdout.encoding or "").lower()
    if color == "auto":
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        colour = sys.stdout.isatty() and not plain
    else:
        colour = color == "always"
    return Style(colour=colour, unicode=encoding.startswith("utf"))


def use_utf8(stream: TextIO) -> None:
    """JSON is UTF-8 whatever the locale says."""
    if reconfigure := getattr(stream, "reconfigure", None):
        reconfigure(encoding="utf-8", errors="backslashreplace")  # which is how JSON writes a lone surrogate
