"""stdin, stdout and stderr as they are found: closed, on a disk that is full, or read by nobody any more."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from typing_extensions import Buffer


_UNKNOWN = "backslashreplace"  # a file name or a source line may hold what the terminal's encoding has not


class LostOutput(Exception):
    """stdout takes no more; the message says why, and is empty where its reader has seen enough."""


class _Output(io.FileIO):
    """Tells its errors from those of other files."""

    def write(self, data: Buffer, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise LostOutput from None
        except OSError as error:
            raise LostOutput(f"stdout cannot be written: {error.strerror or error}") from None


class _Remarks(io.FileIO):
    """What cannot be told is lost, and nothing else."""

    def write(self, data: Buffer, /) -> int:
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes


def take_streams() -> None:
    """Make the streams of this process ours; a stdin that is closed is None. Raises LostOutput where stdout is."""
    _fill_gaps()
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123  (as long as the process)
    else:
        sys.stderr = _text(_Remarks(sys.stderr.fileno(), "wb", closefd=False), sys.stderr)
    if sys.stdout is None:
        raise LostOutput("stdout is closed")
    sys.stdout = _text(_Output(sys.stdout.fileno(), "wb", closefd=False), sys.stdout)


def _fill_gaps() -> None:
    """A file that is opened later must not get the number of a closed stream, nor what is written to that, in this
    process or in one that it starts."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)


def borrow_streams() -> None:
    """Make those of somebody else's process take every name of a file, too."""
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors=_UNKNOWN)


def _text(raw: io.FileIO, like: TextIO) -> TextIO:
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=like.encoding,
        errors=_UNKNOWN,
        line_buffering=bool(like.line_buffering),
    )


def mute(stream: TextIO | None) -> None:
    """Whatever is still to be written to it is lost: the interpreter would fail, or wait, at its end."""
    if stream is None:
        return
    with contextlib.suppress(OSError):  # a stream of somebody else's that is no file
        target = stream.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, target)
        os.close(nowhere)
