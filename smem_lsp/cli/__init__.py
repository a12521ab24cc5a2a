"""The command line.

Holds arguments, exit codes and worker processes. May import everything below. Never judges a kernel itself.

Exit code 0: nothing at or above ``--fail-on``. 1: findings, and nothing else. 2: the tool could not do its job, with a
line on stderr for each reason. 130: interrupted. 141: whoever read stdout stopped reading. Modules of a command are
imported when it runs, so that ``--version`` answers at once.
"""

from smem_lsp.isolation import isolate  # isort: skip  (first: it imports nothing that a project could replace)

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code. ``argv`` None: the process's own arguments; its module path, streams
    and signals are then ours to set up."""
    if argv is None:
        isolate()
        _on_ctrl_c(end=True)  # without a traceback out of the middle of an import
    from smem_lsp.cli.errors import (
        EXIT_CLOSED_PIPE,
        EXIT_FAILED,
        EXIT_INTERRUPTED,
        UsageError,
        complain,
        internal_error,
    )
    from smem_lsp.cli.garbage import collect_seldom
    from smem_lsp.cli.streams import LostOutput, borrow_streams, mute, take_streams

    try:
        if argv is None:
            _on_ctrl_c(end=False)
            take_streams()
            collect_seldom()
        else:
            borrow_streams()
        code = _run(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
        if argv is None and sys.argv[1:2] == ["check"]:
            _leave(code)
        return code
    except KeyboardInterrupt:
        if argv is None:
            _on_ctrl_c(end=True)
            mute(sys.stdout)  # whoever reads it may not go on reading
        complain("interrupted")
        if argv is None:
            # At once: an interpreter that was interrupted in an `exec`, as dataclasses are made by one, ends by SIGINT.
            _leave(EXIT_INTERRUPTED)
        return EXIT_INTERRUPTED
    except LostOutput as error:
        mute(sys.stdout)
        if words := str(error):
            complain(words)
            return EXIT_FAILED
        return EXIT_CLOSED_PIPE
    except UsageError as error:
        complain(str(error))
    except Exception as error:  # noqa: BLE001  (a traceback is no answer, and its exit code means findings)
        complain(internal_error(error))
    try:
        sys.stdout.flush()  # what was found before
    except LostOutput:
        mute(sys.stdout)
    return EXIT_FAILED


def _leave(code: int) -> None:
    """End the process at once. Freeing what is known of a large file, object by object, takes a second."""
    import os

    if sys.stderr is not None:
        sys.stderr.flush()
    os._exit(code)


def _on_ctrl_c(*, end: bool) -> None:
    """End the process at once, or raise KeyboardInterrupt; a process that is to ignore it goes on doing so."""
    import signal

    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL if end else signal.default_int_handler)


def _run(arguments: list[str]) -> int:
    if arguments in (["--version"], ["-V"]):
        from smem_lsp.output.version import TOOL, VERSION

        print(f"{TOOL} {VERSION}")
        return 0
    import importlib

    from smem_lsp.cli.parser import parse

    parsed = parse(arguments)
    if isinstance(parsed, int):
        return parsed
    command = importlib.import_module(f"smem_lsp.cli.{parsed.command}")
    code: int = command.run(parsed)
    return code
