"""stdin, stdout and stderr in whatever state they are: closed, on a full disk, or with no reader left."""

from __future__ import annotations

import io
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

    from typing_extensions import Buffer


_UNKNOWN = "backslashreplace"  # names and source lines may hold characters that the terminal's encoding lacks


class LostOutput(Exception):
    """stdout takes no more. The message says why; it is empty when the reader simply stopped reading."""


class _Output(io.FileIO):
    """stdout, whose write errors are raised as LostOutput, apart from those of other files."""

    def write(self, data: Buffer, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise LostOutput from None
        except OSError as error:
            raise LostOutput(f"stdout cannot be written: {error.strerror or error}") from None


class _Remarks(io.FileIO):
    """stderr: a line that cannot be written is dropped, and the run goes on."""

    def write(self, data: Buffer, /) -> int:
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes


def take_streams() -> None:
    """Set up the streams of this process. A closed stdin becomes None. Raises LostOutput if stdout is closed."""
    _fill_gaps()
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123  (as long as the process)
    else:
        sys.stderr = _text(_Remarks(sys.stderr.fileno(), "wb", closefd=False), sys.stderr)
    if sys.stdout is None:
        raise LostOutput("stdout is closed")
    sys.stdout = _text(_Output(sys.stdout.fileno(), "wb", closefd=False), sys.stdout)


def _fill_gaps() -> None:
    """Occupy the descriptors of closed streams, so that no file opened later, here or in a child, gets one of them and
    with it what is written to that stream."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)


def borrow_streams() -> None:
    """Let the streams of a process that is not ours take every file name, too."""
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
    """Drop what is still to be written to a stream: otherwise the interpreter would fail, or wait, when it ends."""
    if stream is None:
        return
    try:
        target = stream.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, target)
        os.close(nowhere)
    except OSError:  # contextlib would be imported for this alone
        return  # a stream of somebody else's that is no file
