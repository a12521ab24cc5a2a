"""One run of a compiler that may hang, print without end or leave children behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex

_FOLDERS = ("PATH", "LD_LIBRARY_PATH")
_SPARE = 5  # seconds of processor time more than a run lasts
_TOO_LARGE = regex(r"File size limit exceeded|died due to signal 25")
_LOOK = 0.05  # seconds between two looks at a run


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """What a run may use, in bytes; far more than any real compilation does."""

    output: int = 16 << 20  # printed
    memory: int = 16 << 30  # of one process
    file: int = 128 << 20  # one file that it writes
    folder: int = 256 << 20  # all files in its folder


LIMITS = ProcessLimits()


class CompileError(Exception):
    """nvcc refused the text or did not finish; the message is the first line that says why."""


class CompileStopped(CompileError):
    """The run was stopped because nobody waits for it any more."""


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
        """From now on ``set`` ends ``process``; None: it has ended."""
        with self._lock:
            self._process = process
            if process is not None and self._set:
                _kill(process)


def run(
    command: Sequence[str],
    folder: str,
    timeout: float,
    stop: Stop | None = None,
    limits: ProcessLimits = LIMITS,
) -> tuple[int, str]:
    """(exit code, what was printed on both streams) of a program that runs in ``folder``, without a shell.

    It leads a session of its own, and when it ends, what is left of the session is killed. Its output goes to a file,
    because a child left behind could hold a pipe open. Raises CompileError when it cannot be started, needs
    longer than ``timeout`` seconds, prints or writes too much; CompileStopped when ``stop`` is set.
    """
    stop = stop or Stop()
    with tempfile.TemporaryFile() as output:
        if stop.is_set:
            raise CompileStopped("stopped")
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
            _limit(process, limits, timeout)
            _wait(process, _Watch(output.fileno(), folder, limits), timeout, stop)
        finally:
            stop.attach(None)
            _kill(process)
            process.wait()
        if stop.is_set:
            raise CompileStopped("stopped")
        output.seek(0)
        printed = output.read(limits.output).decode("utf-8", "replace")
    if process.returncode != 0 and _TOO_LARGE.search(printed):
        raise CompileError(_too_large(limits))
    return process.returncode, printed


def _wait(process: subprocess.Popen[bytes], watch: _Watch, timeout: float, stop: Stop) -> None:
    end = time.monotonic() + timeout
    while True:
        with suppress(subprocess.TimeoutExpired):
            process.wait(_LOOK)
            watch.look()
            return
        if stop.is_set:
            return
        watch.look()
        if time.monotonic() > end:
            raise CompileError(f"nvcc did not finish within {timeout:g} s")


@dataclass(frozen=True, slots=True)
class _Watch:
    """Looks at what a run has written so far."""

    output: int  # the file that it prints to
    folder: str
    limits: ProcessLimits

    def look(self) -> None:
        """Raises CompileError if it is too much."""
        limits = self.limits
        if os.fstat(self.output).st_size > limits.output:
            raise CompileError(f"nvcc printed more than {limits.output >> 20} MB")
        total = 0
        for size in _sizes(self.folder):
            total += size
            if size >= limits.file:
                raise CompileError(_too_large(limits))
            if total > limits.folder:
                raise CompileError(f"nvcc wrote more than {limits.folder >> 20} MB")


def _too_large(limits: ProcessLimits) -> str:
    return f"nvcc wrote a file of more than {limits.file >> 20} MB"


def _sizes(folder: str) -> Iterator[int]:
    """Bytes of all files below a folder. Links are not followed, and a file may vanish meanwhile."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _sizes(entry.path)
            else:
                with suppress(OSError):
                    yield entry.stat(follow_symlinks=False).st_size


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the program and its session, even if the program itself has ended."""
    if sys.platform == "win32":
        process.kill()
        return
    with suppress(ProcessLookupError, PermissionError):  # nobody is left; macOS says it the second way
        os.killpg(process.pid, signal.SIGKILL)


def _limit(process: subprocess.Popen[bytes], limits: ProcessLimits, timeout: float) -> None:
    """Limit the run and all that it starts, if the system can. The limits hold even if this process is killed."""
    if sys.platform == "linux":
        import resource

        seconds = int(timeout) + _SPARE
        for what, most in (
            (resource.RLIMIT_AS, limits.memory),
            (resource.RLIMIT_FSIZE, limits.file),
            (resource.RLIMIT_CPU, seconds),
            (resource.RLIMIT_CORE, 0),
        ):
            with suppress(OSError, ValueError):  # it has ended, or lives under a lower limit
                resource.prlimit(process.pid, what, (most, most))


def _environment(folder: str) -> Mapping[str, str]:
    """Only the variables that a host compiler needs: nvcc would take flags from NVCC_PREPEND_FLAGS and the like."""
    kept = {name: os.environ[name] for name in ("SYSTEMROOT", "INCLUDE", "LIB", "HOME") if name in os.environ}
    folders = {name: fixed_folders(os.environ[name]) for name in _FOLDERS if name in os.environ}
    return {**kept, **folders, "TMPDIR": folder, "TMP": folder, "TEMP": folder, "LC_ALL": "C"}


def fixed_folders(value: str) -> str:
    """``PATH`` without relative folders, and without the current folder, which may be the project that is checked."""
    here = os.path.realpath(os.curdir)
    folders = (folder for folder in value.split(os.pathsep) if Path(folder).is_absolute())
    return os.pathsep.join(folder for folder in folders if os.path.realpath(folder) != here)
