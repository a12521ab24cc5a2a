"""``smem-lsp config``: the settings in force for a path and where each came from."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from smem_lsp.cli.errors import EXIT_CLEAN, UsageError
from smem_lsp.cli.path_settings import Settings
from smem_lsp.cli.reading import project_reader
from smem_lsp.cli.terminal import use_utf8
from smem_lsp.config import KEYS, ConfigError, LoadedSettings
from smem_lsp.environment.project_index import Missing, ProjectIndex
from smem_lsp.output.json_text import dump
from smem_lsp.source import is_file, is_folder, is_there, plural, printable
from smem_lsp.source.record import dataclass

_MOST_MISSING = 20


def run(flags: argparse.Namespace) -> int:
    """Print one line per setting, as a config file would say it, with its origin as a comment. Raises UsageError."""
    explain([flags.path], Settings(flags), flags.format)
    return EXIT_CLEAN


def explain(paths: Sequence[str], settings: Settings, format: str) -> None:
    """Print the settings that hold for each file, or for a folder's files. ``format``: of ``check``. Raises
    UsageError."""
    if format not in ("full", "text", "concise", "json"):
        raise UsageError(f"settings are printed as text or as json, not as {format}")
    explained = [_explained(path, settings) for path in paths]
    if format == "json":
        use_utf8(sys.stdout)
        sys.stdout.write(dump({"version": 1, "paths": [_object(each, settings) for each in explained]}))
        return
    for each in explained:
        for line in _lines(each, settings):
            print(printable(line))


@dataclass(frozen=True, slots=True)
class _Explained:
    """``project``: of the file; None without one, or where it has no folders to look for includes in."""

    path: str
    loaded: LoadedSettings
    project: ProjectIndex | None
    missing: tuple[Missing, ...]


def _explained(path: str, settings: Settings) -> _Explained:
    if not is_there(path):
        raise UsageError(f"{path}: no such file or folder")
    # A folder's settings are those of a file in it.
    file = str(Path(path, "x.cu")) if is_folder(path) else path
    try:
        loaded = settings.of(file)
    except ConfigError as error:
        raise UsageError(str(error)) from None
    index = project_reader().index(file)
    if index is None or index.tree.flat:
        return _Explained(path, loaded, None, ())
    folders = _include_dirs(loaded, settings, file)
    missing = (
        each
        for each in index.missing()
        if not any(is_file(Path(folder, each.name[1:-1])) for folder in folders)
    )
    return _Explained(path, loaded, index, tuple(missing))


def _include_dirs(loaded: LoadedSettings, settings: Settings, file: str) -> Sequence[str]:
    try:
        flags = settings.for_file(file).compile_flags
    except ConfigError:
        return loaded.config.include_dirs
    return (*loaded.config.include_dirs, *flags.quote_dirs, *flags.include_dirs)


def _object(explained: _Explained, settings: Settings) -> dict[str, object]:
    loaded, index = explained.loaded, explained.project
    project: dict[str, object] | None = None
    if index is not None:
        project = {
            "root": index.tree.root,
            "files": len(index.files),
            "complete": index.tree.complete,
            "include_folders": [
                {"path": folder, "includes": count} for folder, count in _include_folders(index)
            ],
            "missing_includes": [
                {"name": each.name, "files": each.files, "example": each.example}
                for each in explained.missing
            ],
        }
    return {
        "path": explained.path,
        "config_file": None if loaded.file is None else str(loaded.file),
        "settings": {
            key: {"value": _plain(loaded, key), "origin": loaded.origins.get(key, "default")} for key in KEYS
        },
        "excluded_by_flags": list(settings.excluded_too),
        "project": project,
    }


def _lines(explained: _Explained, settings: Settings) -> Iterator[str]:
    loaded = explained.loaded
    where = f"config file {loaded.file}" if loaded.file else "no config file"
    yield f"# settings of {explained.path}, {where}"
    lines = [(f"{key} = {_value(loaded, key)}", loaded.origins.get(key, "default")) for key in KEYS]
    width = min(60, max(len(text) for text, _ in lines))
    for text, origin in lines:
        yield f"{text:<{width}}  # {origin}"
    if settings.excluded_too:
        yield f"# flag --exclude adds {_toml(settings.excluded_too)}"
    if explained.project is not None:
        yield from (f"# {line}" for line in _project_lines(explained.project, explained.missing))


def _project_lines(index: ProjectIndex, missing: Sequence[Missing]) -> Iterator[str]:
    """Where includes are found in a project, and which ones nowhere."""
    root = index.tree.root
    yield f"project {root}: {plural(len(index.files), 'file')} read"
    if not index.tree.complete:
        yield "  too large to look at all of it"
    if index.tree.roots:
        yield "include folders, besides that of each file and -I:"
    for folder, count in _include_folders(index):
        yield f"  {_below(folder, root)} ({plural(count, 'include')})"
    if missing:
        yield "includes that no folder resolves:"
    for each in missing[:_MOST_MISSING]:
        yield f"  {each.name} in {plural(each.files, 'file')}: {_below(each.example, root)}"
    if len(missing) > _MOST_MISSING:
        yield f"  and {len(missing) - _MOST_MISSING:,} more"


def _include_folders(index: ProjectIndex) -> list[tuple[str, int]]:
    """With how many includes each resolves, those with most first."""
    return sorted(index.tree.roots.items(), key=lambda each: (-each[1], each[0]))


def _below(path: str, root: str) -> str:
    return str(Path(path).relative_to(root))


def _value(loaded: LoadedSettings, key: str) -> str:
    """The value as TOML writes it; ``(not set)`` for None, which TOML cannot write."""
    value = _plain(loaded, key)
    if value is None:
        return "(not set)"
    if isinstance(value, dict):
        pairs = (f"{json.dumps(name)} = {_toml(item)}" for name, item in value.items())
        return f"{{ {', '.join(pairs)} }}" if value else "{}"
    return _toml(value)


def _plain(loaded: LoadedSettings, key: str) -> object:
    """The value as a config file may give it, in lists, tables, words and numbers."""
    value: object = getattr(loaded.config, key.replace("-", "_"))
    if key == "threads" and isinstance(value, tuple):
        x, y, z = value
        return f"{x}x{y}" if z == 1 else f"{x}x{y}x{z}"
    if isinstance(value, Mapping):
        return {name: list(item) if isinstance(item, tuple) else item for name, item in value.items()}
    return list(value) if isinstance(value, tuple) else value


def _toml(value: object) -> str:
    items = list(value) if isinstance(value, tuple) else value
    return json.dumps(items, ensure_ascii=False)
