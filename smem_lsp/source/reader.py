"""The front end's interface to the world outside a file: other files, and the file's compile flags."""

from __future__ import annotations

import os.path
from collections.abc import Collection, Sequence
from typing import Protocol

from smem_lsp.source.record import dataclass


class FileReader(Protocol):
    """Finds and reads files for ``#include``, and knows which files of the project lend their context to another.
    Implemented by ``environment``. A reader without an index of the project inherits the empty answers."""

    __slots__ = ()

    def read(self, path: str) -> str | None:
        """Text of a regular file, or None if it is missing, too large or not text."""
        ...

    def search(self, name: str, including: str) -> str | None:
        """Path of the only file in the project of ``including`` that an include of ``name`` can mean if no include
        folder has it; None if there is none or there are several."""
        ...

    def real(self, path: str) -> str:
        """The one absolute path of a file, whatever links lead to it."""
        return os.path.abspath(path)  # noqa: PTH100

    def includers(self, path: str) -> Sequence[str]:
        """The main files of the project through whose units ``path`` is read, the best contexts first; at most 1,000.

        A file with a compile command comes first, then one that launches a kernel of ``path``, then one that includes
        it directly, then the others. Files that nobody includes are main files, and so is ``path`` itself where others
        include it and it is compiled by itself, too. Empty as long as the project has not been read.
        """
        return ()

    def naming(self, path: str, names: Collection[str]) -> Sequence[str]:
        """The files of the project that launch, instantiate or declare a kernel with one of ``names`` and do not
        include ``path``, the nearest first; at most 32."""
        return ()

    def calling(self, path: str, name: str) -> Sequence[str] | None:
        """The other files of the project whose code may name a function that ``path`` defines, sorted; None: the
        project has not been read."""
        return None

    def flags(self, path: str, compile_commands: str | None) -> CompileFlags | None:
        """The options of a file's compile command, or of one near it; None if there is none. ``compile_commands``:
        where the settings say that these are."""
        return None


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
