"""What a compiler said in earlier sessions, in files of the user's cache folder.

An answer is found by the compiler, its flags, the target and the text. It is valid as long as each file that was read
for it has the same bytes. One change goes unnoticed: a new file that an include would now find first. Failures are not
kept, because their cause may lie elsewhere.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from smem_lsp.environment.nvcc import KernelStatistics
from smem_lsp.source import MAX_BYTES, read_regular
from smem_lsp.source.cache_folder import last_used

MOST_ANSWERS = 400  # files; those used last stay
_MOST_BYTES = 4_000_000  # of one file
_VERSION = 1


class CompilerStore:
    """Any thread and any process may ask. A damaged file counts as no answer."""

    __slots__ = ("_folder",)

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, question: Sequence[str]) -> tuple[KernelStatistics, ...] | None:
        path = self._path(question)
        try:
            answer = json.loads(read_regular(str(path), _MOST_BYTES))
            if answer["version"] != _VERSION or answer["question"] != list(question):
                return None
            kernels = tuple(_kernel(each) for each in answer["kernels"])
            if any(content(str(file)) != digest for file, digest in answer["files"]):
                return None
        except FileNotFoundError:
            return None
        except (OSError, OverflowError, LookupError, ValueError, TypeError, RecursionError):
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return kernels

    def keep(
        self, question: Sequence[str], kernels: Sequence[KernelStatistics], files: Sequence[str]
    ) -> None:
        """``files``: everything that was read besides the text. Nothing is kept if one of them cannot be read again."""
        held = [(file, content(file)) for file in sorted(set(files))]
        if any(digest is None for _, digest in held):
            return
        answer = {
            "version": _VERSION,
            "question": list(question),
            "files": held,
            "kernels": [asdict(each) for each in kernels],
        }
        path = self._path(question)
        with contextlib.suppress(OSError, ValueError):  # a folder that cannot be written to; half a character
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".answer-")
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    json.dump(answer, file)
                Path(temporary).replace(path)
            except (OSError, ValueError):
                Path(temporary).unlink(missing_ok=True)
                raise
            self._prune()

    def _path(self, question: Sequence[str]) -> Path:
        digest = hashlib.sha256(json.dumps(list(question)).encode()).hexdigest()
        return self._folder / f"{digest[:40]}.json"

    def _prune(self) -> None:
        answers = sorted(self._folder.glob("*.json"), key=last_used)
        for path in answers[:-MOST_ANSWERS]:
            path.unlink(missing_ok=True)


def content(path: str) -> str | None:
    """A digest of a regular file's bytes; None if it cannot be read or is larger than any header."""
    try:
        place = Path(path)
        if not place.is_absolute() or not place.is_file() or place.stat().st_size > MAX_BYTES:
            return None
        return hashlib.sha256(place.read_bytes()).hexdigest()
    except (OSError, ValueError):
        return None


def _kernel(value: Any) -> KernelStatistics:
    """Raises TypeError or ValueError for anything else."""
    made = KernelStatistics(**value)
    if not isinstance(value.get("arguments"), list | None) or not isinstance(value.get("sizes"), list):
        raise TypeError("not a kernel")
    arguments = None if made.arguments is None else tuple(made.arguments)
    numbers = made.shared_bytes, made.registers, made.spill_bytes, made.barriers
    texts = made.name, made.mangled, made.arch, *(arguments or ())
    if not all(isinstance(text, str) for text in texts) or not all(type(n) is int for n in numbers):
        raise TypeError("not a kernel")
    return replace(made, arguments=arguments, sizes=tuple(_size(each) for each in made.sizes))


def _size(value: Any) -> tuple[str, int, int]:
    name, size, align = value
    if not isinstance(name, str) or type(size) is not int or type(align) is not int:
        raise TypeError("not a size")
    return name, size, align
