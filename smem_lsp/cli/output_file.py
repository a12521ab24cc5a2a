"""Files that a flag names to be written: ``--output-file`` and ``--write-baseline``."""

from __future__ import annotations

import io
import os
from pathlib import Path

from smem_lsp.cli.errors import UsageError
from smem_lsp.source import clipped, is_folder
from smem_lsp.targets.dialects import SUFFIXES

STDOUT = "-"


class OutputFile:
    """Collects a text and writes it at the end, so that a run that is interrupted leaves the file as it was."""

    __slots__ = ("_flag", "_path", "text")

    def __init__(self, flag: str, path: str) -> None:
        """Raises UsageError for a path that no file can be written to, before any work is done."""
        self._flag = f"{flag} {clipped(path, 1_000)}"
        self._path = Path(path)
        self.text = io.StringIO()
        if not path or "\0" in path:
            raise UsageError(f"{flag} names no file")
        if is_folder(path):
            raise UsageError(f"{self._flag}: a folder")
        if (
            self._path.suffix in SUFFIXES
        ):  # the name was forgotten, and the next argument is the kernel to check
            raise UsageError(f"{self._flag}: CUDA source, not overwritten")
        if not is_folder(self._path.parent):
            raise UsageError(f"{self._flag}: no folder {self._path.parent}")

    def write(self) -> None:
        """Raises UsageError."""
        data = self.text.getvalue().encode("utf-8", "backslashreplace")
        try:
            # Without waiting for somebody to read a pipe.
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NONBLOCK", 0)
            with os.fdopen(os.open(self._path, flags, 0o666), "wb") as file:
                if hasattr(os, "O_NONBLOCK"):
                    os.set_blocking(file.fileno(), True)
                file.write(data)
        except OSError as error:
            raise UsageError(f"{self._flag}: {error.strerror or error}") from None
