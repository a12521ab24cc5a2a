"""Several processes that check files. They cannot import anything from the current folder.

They are started with ``-I`` and the module path of this process, without the entries that lead to the current folder,
theirs or ours. This package is the one that runs here, whatever that path leads to. ``multiprocessing`` is not used,
because its children look in the current folder first.
"""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress

from smem_lsp.cli.errors import internal_error
from smem_lsp.cli.messages import read_message, write_message
from smem_lsp.cli.outcome import FileOutcome, FileTask, Options, failed
from smem_lsp.isolation import byte_code_folder, home, interpreter, module_paths

# The package itself imports nothing, and what is in it is looked for where it was found.
_START = (
    "import sys; sys.path[:] = sys.argv[1:2]; import smem_lsp; "
    "sys.path[:] = sys.argv[2:]; from smem_lsp.cli.child import main; main()"
)
_PATIENCE = 0.25  # seconds for all children to leave when they are told to


def check_in_children(
    tasks: Sequence[FileTask | FileOutcome], options: Options, processes: int
) -> Iterator[FileOutcome]:
    """In the order of ``tasks``. When the iterator is closed, by Ctrl-C for one, no process is left."""
    pool = _Pool(tasks, options)
    try:
        pool.start(processes)
        for index, task in enumerate(tasks):
            yield task if isinstance(task, FileOutcome) else pool.wait(index)
    finally:
        pool.end()


class _Pool:
    """One thread per child hands it one task after another. A child that dies costs only the file that it had."""

    __slots__ = ("_answers", "_children", "_done", "_ended", "_lock", "_options", "_waiting")

    def __init__(self, tasks: Sequence[FileTask | FileOutcome], options: Options) -> None:
        self._options = options
        self._waiting = deque((index, task) for index, task in enumerate(tasks) if isinstance(task, FileTask))
        # Not a condition: Ctrl-C in the moment in which it takes its lock again leaves it without.
        self._answers: queue.SimpleQueue[tuple[int, FileOutcome]] = queue.SimpleQueue()
        self._done: dict[int, FileOutcome] = {}  # of the thread that waits
        self._children: set[Child] = set()
        self._ended = False
        self._lock = threading.Lock()

    def start(self, processes: int) -> None:
        for _ in range(min(processes, len(self._waiting))):
            threading.Thread(target=self._serve, daemon=True).start()

    def wait(self, index: int) -> FileOutcome:
        while index not in self._done:
            number, outcome = self._answers.get()
            self._done[number] = outcome
        return self._done.pop(index)

    def end(self) -> None:
        """End all children: nobody waits for the rest."""
        with self._lock:
            self._ended = True
            children = list(self._children)
        for child in children:
            child.interrupt()
        end = time.monotonic() + _PATIENCE
        for child in children:
            child.end(max(0.0, end - time.monotonic()))

    def _serve(self) -> None:
        child: Child | None = None
        while (found := self._next()) is not None:
            index, task = found
            try:
                child = child or self._new_child()
                outcome = child.check(task)
            except Exception as error:  # noqa: BLE001  (an answer that never came would be waited for for ever)
                outcome = failed(task.path, f"{task.path}: {_why(error)}")
                self._leave(child)
                child = None
            self._answers.put((index, outcome))
        self._leave(child)

    def _next(self) -> tuple[int, FileTask] | None:
        with self._lock:
            return self._waiting.popleft() if self._waiting and not self._ended else None

    def _new_child(self) -> Child:
        child = Child(self._options)
        with self._lock:
            self._children.add(child)
            ended = self._ended
        if ended:
            child.end(0)
        return child

    def _leave(self, child: Child | None) -> None:
        if child is not None:
            child.leave()
            with self._lock:
                self._children.discard(child)


def _why(error: Exception) -> str:
    if isinstance(error, EOFError | BrokenPipeError):
        return "not checked, the process that was checking it died"
    if isinstance(error, OSError):
        return f"not checked, no process can be started: {error.strerror or error}"
    return internal_error(error)


def flags_of_children(*folders: str) -> list[str]:
    """``-I`` leaves out what the environment says of the encoding and of byte code. ``folders``: where they start."""
    flags = ["-I", "-X", f"utf8={sys.flags.utf8_mode}"]
    if sys.dont_write_bytecode:
        flags.append("-B")
    if (prefix := byte_code_folder(*folders)) is not None:
        flags += ["-X", f"pycache_prefix={prefix}"]
    return flags


class Child:
    """A child process in a session of its own, so that Ctrl-C reaches only this process."""

    __slots__ = ("_input", "_output", "_process")

    def __init__(self, options: Options, folder: str | None = None) -> None:
        """``folder``: the current one of the child; None: ours. Raises OSError."""
        there = () if folder is None else (folder,)
        self._process = subprocess.Popen(
            [interpreter(), *flags_of_children(*there), "-c", _START, home(), *module_paths(*there)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            cwd=folder,
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout
        write_message(self._input, options)

    def check(self, task: FileTask) -> FileOutcome:
        """Raises OSError or EOFError when the process is gone."""
        write_message(self._input, task)
        outcome: FileOutcome = read_message(self._output)
        return outcome

    def interrupt(self) -> None:
        """Ask it to stop and to leave the file that it works on as it was."""
        self._process.terminate()

    def leave(self) -> None:
        """It has nothing more to do."""
        with suppress(OSError):  # what it did not take any more
            self._input.close()
        self.end(_PATIENCE)

    def end(self, patience: float) -> None:
        """Wait ``patience`` seconds for it to end by itself, then kill it."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(patience)
        if self._process.poll() is None:
            self._kill()
            self._process.wait()

    def _kill(self) -> None:
        if sys.platform == "win32":
            self._process.kill()
            return
        with suppress(ProcessLookupError, PermissionError):  # it is gone
            os.killpg(self._process.pid, signal.SIGKILL)
