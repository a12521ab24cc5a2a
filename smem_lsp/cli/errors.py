"""What the user is told when the tool cannot do its job. Every command line imports it, ``--version`` too: what only a
message needs is imported with the message."""

from __future__ import annotations

import sys

from smem_lsp.output.version import TOOL, VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from smem_lsp.engine.report import FileReport

EXIT_CLEAN = 0
EXIT_FINDINGS = 1
EXIT_FAILED = 2
EXIT_INTERRUPTED = 130
EXIT_CLOSED_PIPE = 141  # as of a program that SIGPIPE ends


class UsageError(Exception):
    """The command cannot run as asked; the message is one line."""


def complain(message: str) -> None:
    """One line on stderr that begins with the name of the tool."""
    from smem_lsp.source.printable import printable

    line = printable(message.strip())
    print(line if line.startswith("smem-lsp ") else f"smem-lsp: {line}", file=sys.stderr)


def internal_error(error: Exception) -> str:
    """A defect of ours in one line that can be pasted into a report."""
    from smem_lsp.source.defect import described

    return reported(f"internal error: {described(error)}")


def told_stops(file: str, report: FileReport) -> bool:
    """Say on stderr which analyses have no result. False: nothing is left to show."""
    for each in report.stopped:
        complain(f"{file}: {reported(each.report) if each.report else f'not complete, {each.words}'}")
    return not report.defects and not (report.stopped and report.unit is None)


def reported(line: str) -> str:
    """A defect with what the user should do about it: report the line."""
    return f"{line}; please report this line ({TOOL} {VERSION})"


def not_built(what: str) -> UsageError:
    return UsageError(f"{what} is not built yet")
