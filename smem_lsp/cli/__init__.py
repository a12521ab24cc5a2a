"""The command line: arguments, exit codes, and which command runs.

0: nothing at or above ``--fail-on``. 1: findings. 2: the tool could not do its job, with a line on stderr for
each reason. Modules of a command are imported when it runs, so that ``--version`` answers at once.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

from smem_lsp.cli.errors import EXIT_FAILED, UsageError, complain


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line, ``sys.argv`` by default, and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        # A file name or a source line may hold what the terminal's encoding has not.
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")
    try:
        code = _run(arguments)
        sys.stdout.flush()
        return code
    except UsageError as error:
        complain(str(error))
        return EXIT_FAILED
    except BrokenPipeError:
        # Whoever read the output has seen enough; the interpreter must not try to flush the rest.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    except KeyboardInterrupt:
        complain("interrupted")
        return EXIT_FAILED


def _run(arguments: list[str]) -> int:
    if arguments in (["--version"], ["-V"]):
        from smem_lsp.output.version import TOOL, VERSION

        print(f"{TOOL} {VERSION}")
        return 0
    from smem_lsp.cli.parser import parse

    parsed = parse(arguments)
    if isinstance(parsed, int):
        return parsed
    command = importlib.import_module(f"smem_lsp.cli.{parsed.command}")
    code: int = command.run(parsed)
    return code
