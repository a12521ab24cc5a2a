"""What the front end is told about the world outside a file: other files, and how the file is compiled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class FileReader(Protocol):
    """Finds and reads files for ``#include``. Implemented by ``environment``."""

    def read(self, path: str) -> str | None:
        """Text of a regular file, or None when it is missing, too large or not text."""
        ...

    def search(self, name: str, including: str) -> str | None:
        """Path of the one file of the project around ``including`` that an include of ``name`` can mean when no include
        folder has it; None when there is none or it is not clear which."""
        ...


@dataclass(frozen=True, slots=True)
class CompileFlags:
    """What a file's compile command says about its preprocessing. Folders and files are absolute."""

    include_dirs: tuple[str, ...] = ()  # -I, then -isystem
    quote_dirs: tuple[str, ...] = ()  # -iquote
    defines: tuple[str, ...] = ()  # "NAME" or "NAME=VALUE"
    undefines: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()  # -include: read before the file
    arch: str | None = None  # "sm_90": the newest that it compiles for


NO_FLAGS = CompileFlags()
