"""The flags for nvcc out of a file's compile command."""

from __future__ import annotations

import os

from smem_lsp.environment.compile_commands import CompileCommands, _database_of, _key, _named, _near
from smem_lsp.environment.compiler_flags import command_flags
from smem_lsp.source import Stamp


class CompilerCommands(CompileCommands):
    """The databases, also read for nvcc's flags. To be used by one thread at a time."""

    __slots__ = ("_words",)

    def __init__(self) -> None:
        super().__init__()
        self._words: dict[tuple[str, Stamp, str], tuple[str, ...]] = {}

    def nvcc_flags(self, path: str, setting: str | None = None) -> tuple[str, ...]:
        """The allowed flags of the command that ``command`` finds for ``path``; empty if there is no usable one."""
        if self.command(path, setting).problem is not None:
            return ()
        absolute = os.path.abspath(path)  # noqa: PTH100
        place = _database_of(absolute) if setting is None else _named(setting)
        if place is None:
            return ()
        database = self._database(place)
        entry = database.entries.get(_key(absolute)) or _near(absolute, database)
        if entry is None:
            return ()
        key = place, database.stamp, entry.file
        if key not in self._words:
            if len(self._words) > 10_000:
                self._words.clear()
            self._words[key] = command_flags(entry.words, entry.directory)
        return self._words[key]
