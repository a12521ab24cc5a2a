"""What came of files in earlier runs, in files of the user's cache folder.

A result is found by everything that it depends on and that is known beforehand, and is valid as long as whatever was
asked of the disk for it has the same answers. Each file has a checksum and comes to its place whole, so that two runs
at a time, or one that is killed, leave nothing that is read. A damaged file counts as no result.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from smem_lsp.source import read_regular
from smem_lsp.source.cache_folder import cache_folder, last_used

MOST_BYTES = 200_000_000  # of all results; those used last stay
_MOST_OF_ONE = 8_000_000  # bytes
_MOST_UNPACKED = 8 * _MOST_OF_ONE
_BETWEEN_LOOKS = 200  # results that are written
_LEVEL = 1  # of compression: the rest takes longer than it saves

Asked = Sequence[Any]
"""A question to the disk, and its answer last."""


class ResultStore:
    """Any thread and any process may ask."""

    __slots__ = ("_folder", "_written")

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._written = 0  # results

    def find(self, key: bytes, still: Callable[[Asked], bool]) -> Any | None:
        """The result for a key, of which all questions have ``still`` the same answers; None if there is none."""
        path = self._path(key)
        try:
            data = read_regular(str(path), _MOST_OF_ONE)
            if int.from_bytes(data[:4], "big") != zlib.crc32(data[4:]):
                raise ValueError("not whole")
            asked, result = json.loads(_unpacked(data[4:]))
            if not all(map(still, asked)):
                return None
        except FileNotFoundError:
            return None
        except (OSError, OverflowError, LookupError, ValueError, TypeError, RecursionError, zlib.error):
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return result

    def keep(self, key: bytes, asked: Iterable[Asked], result: Any) -> None:
        """Nothing is kept where the folder cannot be written to."""
        text = json.dumps([list(asked), result]).encode()
        body = zlib.compress(text, _LEVEL)
        if len(body) >= _MOST_OF_ONE or len(text) > _MOST_UNPACKED:
            return
        path = self._path(key)
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".result-")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(zlib.crc32(body).to_bytes(4, "big") + body)
                Path(temporary).replace(path)
            except OSError:
                Path(temporary).unlink(missing_ok=True)
                raise
            if self._written % _BETWEEN_LOOKS == 0:
                self._prune()
            self._written += 1

    def _prune(self) -> None:
        """Remove what was used longest ago, where there is too much."""
        results = sorted(self._folder.iterdir(), key=last_used, reverse=True)
        left = MOST_BYTES
        for path in results:
            with contextlib.suppress(OSError):
                left -= path.stat().st_size
                if left < 0:
                    path.unlink()

    def _path(self, key: bytes) -> Path:
        return self._folder / hashlib.sha256(key).hexdigest()[:40]


def _unpacked(data: bytes) -> bytes:
    """Raises zlib.error, and ValueError for what is much larger than it looks."""
    unpacker = zlib.decompressobj()
    found = unpacker.decompress(data, _MOST_UNPACKED)
    if not unpacker.eof or unpacker.unused_data:
        raise ValueError("not whole, or too much")
    return found


def user_result_store() -> ResultStore | None:
    """The store in this user's cache folder; None if there is no home folder."""
    try:
        return ResultStore(cache_folder() / "results")
    except RuntimeError:
        return None
