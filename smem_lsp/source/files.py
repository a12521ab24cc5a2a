"""File access that never blocks: a file that is missing, forbidden or not regular raises an error or gives False."""

from __future__ import annotations

import errno
import os
import stat

MAX_BYTES = 8 * 1024 * 1024
"""Larger files are never opened: no kernel is written by hand in eight megabytes."""


Stamp = tuple[int, int, int]
"""Changes when a file does: nanoseconds of the last change of its text and of anything about it, and bytes. The first
can be set to what it was, as by an archive that is unpacked; the second only by a clock that is."""


def stamp_of(status: os.stat_result) -> Stamp:
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size


def read_regular(path: str, limit: int = MAX_BYTES) -> bytes:
    """All bytes of a regular file. Raises OSError, and OverflowError if it is larger than ``limit`` bytes.

    A FIFO or device raises without waiting for it. So does a name with a NUL or half a character: the ValueError that
    Python itself raises for it differs between versions.
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
    """True for a regular file or a link to one; False for any error. ``Path.is_file`` raises for a folder without
    search permission and for a name that is too long."""
    return os.path.isfile(path)  # noqa: PTH113


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Like ``is_file``, for a folder."""
    return os.path.isdir(path)  # noqa: PTH112


def is_there(path: str | os.PathLike[str]) -> bool:
    """Like ``is_file``, for any entry, a dangling link included."""
    return os.path.lexists(path)
