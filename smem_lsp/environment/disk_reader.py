"""Reads the files that the front end asks for while it follows ``#include``."""

from __future__ import annotations

import os
import stat
import time
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from smem_lsp.environment.encoding import decode
from smem_lsp.environment.project import Projects
from smem_lsp.source import MAX_BYTES, FileReader, read_regular

MAX_HELD = 64 * 1024 * 1024
"""Code points of all files that are kept in memory."""

_MOST_TRUSTED = 20_000


@dataclass(frozen=True, slots=True)
class _Stamp:
    """Changes when the file does."""

    modified: int  # nanoseconds
    size: int  # bytes


class DiskReader(FileReader):
    """Reads regular files of at most 8 MB, once per version. Open buffers of an editor hide the disk.

    ``fresh_for``: seconds before a file is looked at again; 0 looks every time.
    """

    __slots__ = ("_cache", "_fresh_for", "_held", "_overlay", "_projects", "_trusted")

    def __init__(self, *, fresh_for: float = 0.0) -> None:
        self._cache: OrderedDict[str, tuple[_Stamp, str | None]] = OrderedDict()
        self._held = 0  # code points in the cache
        self._overlay: dict[str, str] = {}
        self._projects = Projects()
        self._fresh_for = fresh_for
        self._trusted: dict[str, tuple[float, str | None]] = {}  # path as given -> until when, text

    def read(self, path: str) -> str | None:
        """Text of a regular file, or None when it is missing, too large or not text."""
        if self._fresh_for:
            trusted = self._trusted.get(path)
            now = time.monotonic()
            if trusted is not None and now < trusted[0]:
                return trusted[1]
            text = self._read(path)
            if len(self._trusted) >= _MOST_TRUSTED:
                self._trusted.clear()
            self._trusted[path] = now + self._fresh_for, text
            return text
        return self._read(path)

    def search(self, name: str, including: str) -> str | None:
        """The file in the project around ``including`` whose path ends in ``name``; None if there is none or several
        fit."""
        return self._projects.search(name, including, self.read)

    def in_project(self, path: str, *, around: str) -> bool:
        """Does ``path`` belong to the project of the file ``around``, or, if that has none, stand below its folder?"""
        folder = os.path.dirname(os.path.abspath(around))  # noqa: PTH100, PTH120
        root = self._projects.root(folder) or folder
        return Path(os.path.abspath(path)).is_relative_to(root)  # noqa: PTH100

    def show(self, path: str, text: str) -> None:
        """An editor has opened ``path``: from now on it reads as ``text``."""
        self._overlay[_key(path)] = text
        self._trusted.clear()

    def hide(self, path: str) -> None:
        """The editor has closed ``path``: it reads as on disk again."""
        self._overlay.pop(_key(path), None)
        self._trusted.clear()

    def forget(self) -> None:
        """Files on the disk were made, changed or removed: look at them again."""
        self._projects.forget()
        self._trusted.clear()

    def _read(self, path: str) -> str | None:
        key = _key(path)
        if key in self._overlay:
            return self._overlay[key]
        stamp = _stamp(key)
        if stamp is None:
            return None
        cached = self._cache.get(key)
        if cached is not None and cached[0] == stamp:
            self._cache.move_to_end(key)
            return cached[1]
        text = _text(key)
        self._held += len(text or "") - len((cached and cached[1]) or "")
        self._cache[key] = (stamp, text)
        while self._held > MAX_HELD and len(self._cache) > 1:
            _, (_, dropped) = self._cache.popitem(last=False)
            self._held -= len(dropped or "")
        return text


def _key(path: str) -> str:
    return os.path.normcase(os.path.abspath(path))  # noqa: PTH100


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
