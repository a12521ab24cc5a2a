"""The front end's interface to the world outside a file: other files, and the file's compile flags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class FileReader(Protocol):
    """Finds and reads files for ``#include``. Implemented by ``environment``."""

    def read(self, path: str) -> str | None:
        """Text of a regular file, or None if it is missing, too large or not text."""
        ...

    def search(self, name: str, including: str) -> str | None:
        """Path of the only file in the project of ``including`` that an include of ``name`` can mean if no include
        folder has it; None if there is none or there are several."""
        ...


@dataclass(frozen=True, slots=True)
class CompileFlags:
    """The preprocessing options of a file's compile command. Folders and files are absolute."""

    include_dirs: tuple[str, ...] = ()  # -I, then -isystem
    quote_dirs: tuple[str, ...] = ()  # -iquote
    defines: tuple[str, ...] = ()  # "NAME" or "NAME=VALUE"
    undefines: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()  # -include: read before the file
    arch: str | None = None  # "sm_90": the newest that it compiles for


NO_FLAGS = CompileFlags()
