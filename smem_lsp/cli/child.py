"""A process that checks files for another one: options and tasks on stdin, what came of each task on stdout.

It ends when its stdin does, even in the middle of a file: the other process is gone then.
"""

from __future__ import annotations

import _thread
import os
import queue
import signal
import sys
import threading
import time
from types import FrameType
from typing import BinaryIO, NoReturn

from smem_lsp.cli.checking import FileChecker
from smem_lsp.cli.errors import internal_error
from smem_lsp.cli.garbage import collect_seldom
from smem_lsp.cli.messages import read_message, write_message
from smem_lsp.cli.outcome import FileTask, Options, failed

_PATIENCE = 0.4  # seconds for a compiler to be killed and a file to be put back


class _Left(BaseException):
    """Nobody waits for the rest."""


def main() -> NoReturn:
    """Serve until stdin ends. Ctrl-C is for the other process, SIGTERM comes from it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave)
    collect_seldom()
    try:
        # Whatever else is printed does not belong between the messages.
        output = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        told: queue.SimpleQueue[Options | FileTask | None] = queue.SimpleQueue()
        threading.Thread(target=_listen, args=(told,), daemon=True).start()
        _serve(told, output)
        os._exit(0)  # at once: there is nothing to clean up
    except (_Left, OSError):  # OSError: nobody reads
        os._exit(1)


def _serve(told: queue.SimpleQueue[Options | FileTask | None], output: BinaryIO) -> None:
    """First come the options, then one task after another."""
    options = told.get()
    if not isinstance(options, Options):
        return
    checker = FileChecker(options)
    while isinstance(task := told.get(), FileTask):
        _answer(output, task, checker)


def _answer(output: BinaryIO, task: FileTask, checker: FileChecker) -> None:
    outcome = checker.check(task)
    try:
        write_message(output, outcome)
    except OSError:
        raise
    except Exception as error:  # noqa: BLE001  (what cannot be handed over costs one file)
        write_message(output, failed(task.path, f"{task.path}: {internal_error(error)}"))


def _listen(told: queue.SimpleQueue[Options | FileTask | None]) -> None:
    """Runs on a thread of its own, so that the end of stdin is seen during a check, too."""
    stdin = os.fdopen(sys.stdin.fileno(), "rb", closefd=False)
    try:
        while True:
            told.put(read_message(stdin))
    except EOFError:
        told.put(None)
        _thread.interrupt_main(signal.SIGTERM)
        time.sleep(_PATIENCE)
        os._exit(1)


def _leave(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough
    raise _Left
