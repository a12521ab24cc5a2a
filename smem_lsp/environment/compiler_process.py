"""One run of a compiler that may hang, print without end or leave children behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

MOST_OUTPUT = 16 * 1024 * 1024  # bytes; more than that is no compiler's
MOST_MEMORY = 16 * 1024**3  # bytes of one process
_LOOK = 0.05  # seconds between two looks at a run


class CompileError(Exception):
    """nvcc refused the text or did not finish; the message is the first line that says why."""


class Stopped(CompileError):
    """Nobody waits for the run any more."""


class Stop:
    """Ends a run from another thread, at once and with everything that the run started."""

    __slots__ = ("_lock", "_process", "_set")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._set = False

    def set(self) -> None:
        with self._lock:
            self._set = True
            if self._process is not None:
                _kill(self._process)

    @property
    def is_set(self) -> bool:
        return self._set

    def attach(self, process: subprocess.Popen[bytes] | None) -> None:
        """``process`` is the one to end; None: it has ended."""
        with self._lock:
            self._process = process
            if process is not None and self._set:
                _kill(process)


def run(command: Sequence[str], folder: str, timeout: float, stop: Stop | None = None) -> tuple[int, str]:
    """(exit code, what was printed on both streams) of a program that runs in ``folder``, without a shell.

    It leads a session of its own, and whatever is left of the session when it ends is killed. Its output goes to a
    file: a child that it leaves behind cannot hold a pipe open. Raises CompileError when it cannot be started, needs
    longer than ``timeout`` seconds or prints too much; Stopped when ``stop`` is set.
    """
    stop = stop or Stop()
    with tempfile.TemporaryFile() as output:
        if stop.is_set:
            raise Stopped("stopped")
        try:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=_environment(folder),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:  # ValueError: a NUL in a word
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise CompileError(f"{command[0]}: {reason or error}") from None
        stop.attach(process)
        try:
            _limit_memory(process)
            _wait(process, output.fileno(), timeout, stop)
        finally:
            stop.attach(None)
            _kill(process)
            process.wait()
        if stop.is_set:
            raise Stopped("stopped")
        output.seek(0)
        return process.returncode, output.read(MOST_OUTPUT).decode("utf-8", "replace")


def _wait(process: subprocess.Popen[bytes], output: int, timeout: float, stop: Stop) -> None:
    end = time.monotonic() + timeout
    while True:
        with suppress(subprocess.TimeoutExpired):
            process.wait(_LOOK)
            return
        if stop.is_set:
            return
        if os.fstat(output).st_size > MOST_OUTPUT:
            raise CompileError(f"nvcc printed more than {MOST_OUTPUT >> 20} MB")
        if time.monotonic() > end:
            raise CompileError(f"nvcc did not finish within {timeout:g} s")


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the program and its session, also what is left of one that has ended."""
    if sys.platform == "win32":
        process.kill()
        return
    with suppress(ProcessLookupError, PermissionError):  # nobody is left; macOS says it the second way
        os.killpg(process.pid, signal.SIGKILL)


def _limit_memory(process: subprocess.Popen[bytes]) -> None:
    """For it and all that it starts, where the system can."""
    if sys.platform == "linux":
        import resource

        with suppress(OSError, ValueError):  # it has ended, or lives under a lower limit
            resource.prlimit(process.pid, resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))


def _environment(folder: str) -> Mapping[str, str]:
    """Only what a host compiler needs; nvcc would take more flags from NVCC_PREPEND_FLAGS and its like."""
    names = ("PATH", "SYSTEMROOT", "INCLUDE", "LIB", "LD_LIBRARY_PATH", "HOME")
    kept = {name: os.environ[name] for name in names if name in os.environ}
    return {**kept, "TMPDIR": folder, "TMP": folder, "TEMP": folder, "LC_ALL": "C"}
