"""What the files of a project said in earlier sessions, in one file for each project in the user's cache folder.

A line for each file, and a last one with a checksum. A file that is damaged, or was written by another version, counts
as nothing known.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import sys
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from smem_lsp.source import Stamp, read_regular
from smem_lsp.source.cache_folder import cache_folder, last_used
from smem_lsp.source.file_summary import VERSION, FileSummary

MOST_PROJECTS = 100  # files; those used last stay
_MOST_BYTES = 100_000_000  # of one file
_LINES = 200  # between two steps


class IndexStore:
    """Any thread and any process may ask."""

    __slots__ = ("_folder",)

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, root: str) -> dict[str, tuple[Stamp, FileSummary]]:
        """Path -> what is known of it; empty if nothing is."""
        path = self._path(root)
        try:
            data = read_regular(str(path), _MOST_BYTES)
            body, _, last = data[:-1].rpartition(b"\n")
            if json.loads(last) != [VERSION, root, zlib.crc32(body)]:
                raise ValueError("not whole, or not of this project")
            found = dict(_entry(json.loads(line), root) for line in body.splitlines())
        except FileNotFoundError:
            return {}
        except (OSError, OverflowError, ValueError, KeyError, TypeError, RecursionError):
            with contextlib.suppress(OSError):
                path.unlink()
            return {}
        with contextlib.suppress(OSError):
            os.utime(path)
        return found

    def keep(self, root: str, files: Mapping[str, tuple[Stamp | None, FileSummary]]) -> Iterator[None]:
        """Write it, in steps; nothing is written before the last one."""
        path = self._path(root)
        start = len(root.rstrip(os.sep)) + 1
        with contextlib.suppress(OSError, ValueError):  # a folder that cannot be written to; half a character
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".index-")
            try:
                with os.fdopen(handle, "wb") as file:
                    checksum, separator = 0, b""
                    for number, (each, (stamp, summary)) in enumerate(files.items()):
                        *lists, words = summary
                        packed = base64.b64encode(words).decode()
                        line = separator + json.dumps([each[start:], stamp, *lists, packed]).encode()
                        checksum = zlib.crc32(line, checksum)
                        file.write(line)
                        separator = b"\n"
                        if number % _LINES == 0:
                            yield
                    file.write(b"\n" + json.dumps([VERSION, root, checksum]).encode() + b"\n")
                Path(temporary).replace(path)
            except BaseException:  # GeneratorExit, too: nobody takes the last step
                Path(temporary).unlink(missing_ok=True)
                raise
            self._prune()

    def _path(self, root: str) -> Path:
        return self._folder / f"{hashlib.sha256(os.fsencode(root)).hexdigest()[:40]}.jsonl"

    def _prune(self) -> None:
        found = sorted(self._folder.glob("*.jsonl"), key=last_used)
        for path in found[:-MOST_PROJECTS]:
            path.unlink(missing_ok=True)


def user_index_store() -> IndexStore | None:
    """The store in this user's cache folder; None if there is no home folder."""
    try:
        return IndexStore(cache_folder() / "index")
    except RuntimeError:
        return None


def _entry(value: Any, root: str) -> tuple[str, tuple[Stamp, FileSummary]]:
    """Raises TypeError or ValueError for anything else."""
    name, (modified, changed, size), *lists, packed = value
    if not isinstance(name, str) or any(type(each) is not int for each in (modified, changed, size)):
        raise TypeError("not a file")
    # sys.intern raises TypeError for what is no string; names that many files have are held once
    words = base64.b64decode(packed, validate=True)
    includes, defined, declared, used, macros = (tuple(map(sys.intern, names)) for names in lists)
    summary = FileSummary(includes, defined, declared, used, macros, words)
    return f"{root.rstrip(os.sep)}{os.sep}{name}", ((modified, changed, size), summary)
