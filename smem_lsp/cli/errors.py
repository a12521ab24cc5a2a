"""What the user is told when the tool cannot do its job."""

from __future__ import annotations

import sys
from pathlib import Path
from types import TracebackType

from smem_lsp.output.version import TOOL, VERSION

EXIT_CLEAN = 0
EXIT_FINDINGS = 1
EXIT_FAILED = 2
EXIT_INTERRUPTED = 130

_PACKAGE = Path(__file__).parents[1]


class UsageError(Exception):
    """The command cannot run as asked; the message is one line."""


def complain(message: str) -> None:
    """One line on stderr that begins with the name of the tool."""
    line = " ".join(message.split())
    print(line if line.startswith("smem-lsp ") else f"smem-lsp: {line}", file=sys.stderr)


def internal_error(error: Exception) -> str:
    """A defect of ours in one line that can be pasted into a report."""
    words = " ".join(str(error).split())
    what = f"{type(error).__name__} at {_place(error.__traceback__)}{f': {words}' if words else ''}"
    return f"internal error, please report it: {what} ({TOOL} {VERSION}, Python {sys.version.split()[0]})"


def _place(frames: TracebackType | None) -> str:
    """File and line where it happened; where that is no file of ours, the last of ours as well."""
    last = ours = ""
    while frames is not None:
        path = Path(frames.tb_frame.f_code.co_filename)
        if path.is_relative_to(_PACKAGE):
            last = ours = f"{path.relative_to(_PACKAGE.parent).as_posix()}:{frames.tb_lineno}"
        else:
            last = f"{path.name}:{frames.tb_lineno}"
        frames = frames.tb_next
    return last if last == ours or not ours else f"{last}, called at {ours}"


def not_built(what: str) -> UsageError:
    return UsageError(f"{what} is not built yet")
