"""Files as they are asked for everywhere: what is not there, not allowed or no regular file raises or says no, and
nothing waits for it."""

from __future__ import annotations

import errno
import os
import stat

MAX_BYTES = 8 * 1024 * 1024
"""Larger files are never opened: no kernel is written by hand in eight megabytes."""


def read_regular(path: str, limit: int = MAX_BYTES) -> bytes:
    """All bytes of a regular file. Raises OSError, and OverflowError when it is larger than ``limit`` bytes.

    A FIFO or device is refused without waiting for it. A name that holds a NUL or half a character is an OSError
    too: each version of Python words its own ValueError for that differently.
    """
    if "\0" in path:
        raise OSError(errno.EINVAL, "its name holds a NUL character", path)
    # O_NONBLOCK: opening a FIFO nobody writes to must not hang; fstat then refuses it.
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except UnicodeEncodeError:
        raise OSError(errno.EINVAL, "its name holds half a character", path) from None
    try:
        status = os.fstat(descriptor)
    except OSError:
        os.close(descriptor)
        raise
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, "is a directory", path)
        raise OSError(errno.EINVAL, "is not a regular file", path)
    with os.fdopen(descriptor, "rb") as file:
        # One byte more than allowed: the size in the status may be a lie (/proc) or out of date.
        data = file.read(limit + 1)
    if len(data) > limit:
        raise OverflowError(path)
    return data


def is_file(path: str | os.PathLike[str]) -> bool:
    """True for a regular file or a link to one. Where it cannot be looked at the answer is no, whatever the reason:
    ``Path.is_file`` raises for a folder that may not be searched and for a name that is too long."""
    return os.path.isfile(path)  # noqa: PTH113


def is_folder(path: str | os.PathLike[str]) -> bool:
    """The same for a folder."""
    return os.path.isdir(path)  # noqa: PTH112


def is_there(path: str | os.PathLike[str]) -> bool:
    """The same for anything, a link that leads nowhere too."""
    return os.path.lexists(path)
