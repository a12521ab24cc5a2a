"""What the user is told when the tool cannot do its job."""

from __future__ import annotations

import sys

from smem_lsp.source import printable

EXIT_CLEAN = 0
EXIT_FINDINGS = 1
EXIT_FAILED = 2


class UsageError(Exception):
    """The command cannot run as asked; the message is one line."""


def complain(message: str) -> None:
    """One line on stderr that begins with the name of the tool."""
    line = printable(message.strip())
    print(line if line.startswith("smem-lsp ") else f"smem-lsp: {line}", file=sys.stderr)


def not_built(what: str) -> UsageError:
    return UsageError(f"{what} is not built yet")
