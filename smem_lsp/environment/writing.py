"""Replaces a file by its fixed text: completely or not at all, and nothing else is touched."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from smem_lsp.environment.encoding import encode
from smem_lsp.environment.sources import SourceError, SourceFile, lowered
from smem_lsp.source import is_folder, read_regular
from smem_lsp.source.regex import regex

_LONGEST_NAME = 200  # bytes of a file's own name in that of a temporary one
_TEMPORARY = regex(r"\..*\.smem-lsp-(\d{1,10})-[0-9a-f]{8}", re.S)
_MOST_PROCESSES = 2**31 - 1
_LONGEST_WRITE = 3_600.0  # seconds; writing a file never takes as long


def trees(paths: Sequence[str]) -> tuple[str, ...]:
    """The folders in which files may be written when the user names these paths: each folder itself; for a file the
    current folder if it lies below that, else its own. Links are followed: the user has named them."""
    here = Path.cwd()
    found: dict[str, None] = {}
    for path in paths:
        if is_folder(path):
            found[os.path.realpath(path)] = None
        else:
            folder = Path(os.path.abspath(path)).parent  # noqa: PTH100
            found[os.path.realpath(here if folder.is_relative_to(here) else folder)] = None
    return tuple(found)


def write_source(file: SourceFile, text: str, inside: Sequence[str] | None = None) -> None:
    """Replace the file by ``text`` in one step, in its own encoding, with its owner, mode and attributes; links stay.

    ``inside``: folders, as ``trees`` gives them, out of which no link may lead. Raises SourceError if one does, if
    writing fails, if the file has changed since it was read, and for a file with several hard links: a new file would
    replace only one of them, and writing in place could lose it if the machine stops halfway.
    """
    target = Path(os.path.realpath(file.path))
    if inside is not None and not _is_inside(target, inside):
        raise SourceError(file.path, f"not written: it leads out of the given folders, to {target}")
    try:
        data = encode(text, file.encoding)
    except UnicodeEncodeError as error:
        missing = text[error.start : error.end]
        raise SourceError(file.path, f"not written: {file.encoding.codec} has no {missing!r}") from None
    try:
        status = target.stat()
        if status.st_nlink > 1:
            raise SourceError(file.path, f"not written: {status.st_nlink} hard links lead to it")
        _judge_unchanged(file, target)
        _replace(file, target, data, status)
    except OverflowError:
        raise _changed(file) from None
    except OSError as error:
        raise SourceError(file.path, f"cannot be written: {lowered(error.strerror or str(error))}") from None


class Leftovers:
    """What killed runs left behind: files with the names that ``write_source`` gives them, whose process is gone.

    ``inside``: folders, as ``trees`` gives them; nothing outside of them is removed.
    """

    __slots__ = ("_inside", "_searched")

    def __init__(self, inside: Sequence[str]) -> None:
        self._inside = tuple(inside)
        self._searched: set[Path] = set()

    def remove_beside(self, path: str) -> None:
        """Remove them from the folder of a file. Each folder is searched once."""
        target = Path(os.path.realpath(path))
        if target.parent not in self._searched and _is_inside(target, self._inside):
            self._searched.add(target.parent)
            _remove_leftovers(target.parent)


def _is_inside(target: Path, folders: Sequence[str]) -> bool:
    return any(target.is_relative_to(folder) for folder in folders)


def _remove_leftovers(folder: Path) -> None:
    with contextlib.suppress(OSError), os.scandir(folder) as listing:  # what cannot be read has been told
        for entry in listing:
            found = _TEMPORARY.fullmatch(entry.name)
            if found and entry.is_file(follow_symlinks=False) and _is_left(entry, int(found[1])):
                with contextlib.suppress(OSError):  # another run was faster
                    os.unlink(entry.path)  # noqa: PTH108


def _is_left(entry: os.DirEntry[str], process: int) -> bool:
    """Has its run ended long ago? It must be old, too: on a folder shared with another machine the process number means
    nothing here."""
    age = time.time() - entry.stat(follow_symlinks=False).st_mtime
    return age > _LONGEST_WRITE and _is_gone(process)


def _is_gone(process: int) -> bool:
    """Is there no such process? False also if the system does not say."""
    if sys.platform == "win32" or process > _MOST_PROCESSES:  # there signal 0 is Ctrl-C
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def _judge_unchanged(file: SourceFile, target: Path) -> None:
    if read_regular(str(target)) != file.data:
        raise _changed(file)


def _changed(file: SourceFile) -> SourceError:
    return SourceError(file.path, "not written: it changed while it was checked")


def _replace(file: SourceFile, target: Path, data: bytes, status: os.stat_result) -> None:
    if not os.access(target, os.W_OK):
        raise PermissionError(13, "it is read-only")
    name = os.fsdecode(os.fsencode(target.name)[:_LONGEST_NAME])
    temporary = target.parent / f".{name}.smem-lsp-{os.getpid()}-{secrets.token_hex(4)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(temporary, flags, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        _adopt(temporary, target, status)
        _judge_unchanged(file, target)
        temporary.replace(target)
    except BaseException:  # Ctrl-C too
        temporary.unlink(missing_ok=True)
        raise


def _adopt(temporary: Path, target: Path, status: os.stat_result) -> None:
    """Give a file the owner, attributes and mode of another. Raises OSError if the owner cannot be kept."""
    if sys.platform != "win32":
        made = temporary.stat()
        if (made.st_uid, made.st_gid) != (status.st_uid, status.st_gid):
            try:
                os.chown(temporary, status.st_uid, status.st_gid)
            except OSError:
                raise PermissionError(1, "its owner and group cannot be kept") from None
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # a file system without attributes
            for name in os.listxattr(target):
                with contextlib.suppress(OSError):  # one that only the system may set
                    os.setxattr(temporary, name, os.getxattr(target, name))
    temporary.chmod(stat.S_IMODE(status.st_mode))
