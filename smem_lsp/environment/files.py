"""Files that the front end asks for while it follows ``#include``."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass

from smem_lsp.environment.encoding import decode

MAX_BYTES = 8 * 1024 * 1024
"""Larger files are never opened: no kernel is written by hand in eight megabytes."""


@dataclass(frozen=True, slots=True)
class _Stamp:
    """Changes when the file does."""

    modified: int  # nanoseconds
    size: int  # bytes


class DiskReader:
    """Reads regular files of at most 8 MB, once per version. Open buffers of an editor hide the disk."""

    __slots__ = ("_cache", "_overlay")

    def __init__(self) -> None:
        self._cache: dict[str, tuple[_Stamp, str | None]] = {}
        self._overlay: dict[str, str] = {}

    def read(self, path: str) -> str | None:
        """Text of a regular file, or None when it is missing, too large or not text."""
        key = _key(path)
        if key in self._overlay:
            return self._overlay[key]
        stamp = _stamp(key)
        if stamp is None:
            return None
        cached = self._cache.get(key)
        if cached is not None and cached[0] == stamp:
            return cached[1]
        text = _text(key)
        self._cache[key] = (stamp, text)
        return text

    def show(self, path: str, text: str) -> None:
        """From now on ``path`` reads as ``text``: an editor has it open."""
        self._overlay[_key(path)] = text

    def hide(self, path: str) -> None:
        """``path`` reads as on disk again."""
        self._overlay.pop(_key(path), None)


def _key(path: str) -> str:
    return os.path.normcase(os.path.abspath(path))  # noqa: PTH100


def read_regular(path: str, limit: int = MAX_BYTES) -> bytes:
    """All bytes of a regular file. Raises OSError; OverflowError when it is larger than ``limit`` bytes.

    A FIFO or device is refused without waiting for it.
    """
    # O_NONBLOCK: opening a FIFO nobody writes to must not hang; fstat then refuses it.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(21, "is a directory", path)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(22, "is not a regular file", path)
        # One byte more than allowed: the size in the status may be a lie (/proc) or out of date.
        data = file.read(limit + 1)
    if len(data) > limit:
        raise OverflowError(path)
    return data


def _stamp(path: str) -> _Stamp | None:
    try:
        status = os.stat(path)  # noqa: PTH116
    except (OSError, ValueError):  # ValueError: a NUL in the name of an include
        return None
    if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
        return None
    return _Stamp(status.st_mtime_ns, status.st_size)


def _text(path: str) -> str | None:
    try:
        text, _ = decode(read_regular(path))
    except (OSError, OverflowError, UnicodeDecodeError):
        return None
    return None if "\0" in text else text
