"""Find the config file of a path and read it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from smem_lsp.config.patterns import PathPatterns
from smem_lsp.config.settings import Config
from smem_lsp.config.table import KEYS, SCHEMA_KEY, UnknownKey, WrongValue, config_from_table
from smem_lsp.config.toml import MAX_SIZE, TomlError, parse_toml
from smem_lsp.source import is_file, is_folder, is_there, printable, read_regular
from smem_lsp.source.record import dataclass

_OWN_FILE = "smem.toml"
_SHARED_FILE = "pyproject.toml"
_MOST_OF_OTHERS = 8 * MAX_SIZE  # bytes of a pyproject.toml that are searched for our table


class ConfigError(ValueError):
    """A config file that cannot be used. The message is one line: file, line where known, problem."""

    def __init__(self, file: str, problem: str, *, key: str | None = None) -> None:
        super().__init__(f"{printable(file)}: {problem}")
        self.file = file
        self.key = key


@dataclass(frozen=True)
class LoadedSettings:
    """Settings together with where they came from."""

    config: Config
    file: Path | None  # None: nothing but defaults and flags
    root: Path  # what patterns are relative to: the folder of the config file, else the current one
    origins: Mapping[str, str] = field(
        default_factory=dict
    )  # key -> "file:line" or "flag --x"; absent: default

    def for_file(self, path: str) -> Config:
        """The settings of one file: ``per-file-ignores`` whose pattern matches join ``ignore``."""
        per_file = self.config.per_file_ignores
        if not per_file:
            return self.config
        extra = [code for glob in self._per_file.matching(path) for code in per_file[glob]]
        ignore = tuple(dict.fromkeys((*self.config.ignore, *extra)))
        return replace(self.config, ignore=ignore, per_file_ignores={})

    def excludes(self, path: str) -> bool:
        """Does ``exclude`` name the file, or a folder above it?"""
        return next(self._excluded.matching(path), None) is not None

    def override(self, origins: Mapping[str, str], **fields: Any) -> LoadedSettings:
        """The same with some fields of Config replaced, as flags do; ``origins`` by config key."""
        return replace(self, config=replace(self.config, **fields), origins={**self.origins, **origins})

    @cached_property
    def _per_file(self) -> PathPatterns:
        return PathPatterns(self.config.per_file_ignores, self.root)

    @cached_property
    def _excluded(self) -> PathPatterns:
        return PathPatterns(self.config.exclude, self.root)


def defaults() -> LoadedSettings:
    """No config file at all."""
    return LoadedSettings(Config(), None, Path.cwd())


def discover(path: str | Path) -> LoadedSettings:
    """The settings that hold for ``path``, a file or folder that need not exist. Raises ConfigError."""
    file = find_config(path)
    return defaults() if file is None else load_config(file)


def find_config(path: str | Path) -> Path | None:
    """Nearest ``smem.toml``, or ``pyproject.toml`` with a ``[tool.smem]`` table, from ``path`` upwards.

    Raises ConfigError for a ``pyproject.toml`` that mentions ``[tool.smem]`` and is not valid TOML.
    """
    start = Path(os.path.abspath(path))  # noqa: PTH100  (the folder it is reached through, not a link's target)
    folders = _upwards(start if is_folder(start) else start.parent)
    return next((file for folder in folders if (file := config_in(folder)) is not None), None)


def config_in(folder: Path) -> Path | None:
    """The config file of this folder alone; ``smem.toml`` wins, even if it cannot be read. None if there is none, or
    the folder may not be searched. Raises ConfigError as ``find_config`` does."""
    own = folder / _OWN_FILE
    if is_there(own):
        return own
    shared = folder / _SHARED_FILE
    return shared if is_file(shared) and _mentions_us(shared) and _table(shared) is not None else None


def load_config(file: str | Path) -> LoadedSettings:
    """Read one config file, whatever its name: one called ``pyproject.toml`` by its ``[tool.smem]`` table.

    Raises ConfigError, also when the file cannot be read.
    """
    path = Path(file)
    text = _read(path)
    table = _table(path) or {}
    if isinstance(table.get(SCHEMA_KEY), str):  # for editors
        del table[SCHEMA_KEY]
    absolute = Path(os.path.abspath(path))  # noqa: PTH100
    try:
        config = config_from_table(table, absolute.parent)
    except (UnknownKey, WrongValue) as error:
        where = _place(path, text, error.key)
        raise ConfigError(where, str(error), key=error.key) from None
    origins = {key: _place(path, text, key) for key in KEYS if key in table}
    return LoadedSettings(config, absolute, absolute.parent, origins)


def _upwards(folder: Path) -> Iterator[Path]:
    yield folder
    yield from folder.parents


def _read(file: Path) -> str:
    try:
        return read_regular(str(file), MAX_SIZE).decode("utf-8-sig")
    except OverflowError:
        raise ConfigError(str(file), f"larger than {MAX_SIZE >> 20} MB, not read") from None
    except OSError as error:
        raise ConfigError(str(file), f"cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(str(file), f"is not UTF-8 text (byte {error.start})") from None


def _mentions_us(file: Path) -> bool:
    try:
        data = read_regular(str(file), _MOST_OF_OTHERS)
    except (OSError, OverflowError):
        return False  # a file of other tools: we do not complain about it
    return re.search(rb"tool\s*\.\s*[\"']?smem|\[\s*tool\s*\]", data) is not None


def _table(file: Path) -> dict[str, object] | None:
    """The table of our settings, None when a pyproject.toml has none. Raises ConfigError."""
    text = _read(file)
    try:
        document = parse_toml(text)
    except TomlError as error:
        raise ConfigError(str(file), str(error)) from None
    if file.name != _SHARED_FILE:
        return document
    tool = document.get("tool")
    table = tool.get("smem") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigError(str(file), '"tool.smem" must be a table', key="tool.smem")
    return table


def _place(file: Path, text: str, key: str) -> str:
    """``file:line`` of a key if a line clearly starts with it, else ``file``."""
    lines = text.splitlines()
    start = 0
    if file.name == _SHARED_FILE:
        start = next((n for n, line in enumerate(lines) if re.match(r"\s*\[+tool\.smem\b", line)), len(lines))
    # A dotted key stands either as written or under the table of its first part.
    for name in (key, key.rpartition(".")[2], key.partition(".")[0]):
        quoted = rf"""["']?{re.escape(name)}["']?"""
        begins = re.compile(rf"\s*(?:\[(?:tool\.smem\.)?{quoted}[.\]]|{quoted}\s*[=.])")
        found = next((n for n in range(start, len(lines)) if begins.match(lines[n])), None)
        if found is not None:
            return f"{file}:{found + 1}"
    return str(file)
