"""``smem-lsp config``: the settings in force for a path and where each came from."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from smem_lsp.cli.errors import EXIT_CLEAN, UsageError
from smem_lsp.cli.path_settings import Settings
from smem_lsp.cli.reading import project_reader
from smem_lsp.config import KEYS, ConfigError, Loaded
from smem_lsp.source import is_file, is_folder, is_there, plural, printable

_MOST_MISSING = 20


def run(flags: argparse.Namespace) -> int:
    """Print one line per setting, as a config file would say it, with its origin as a comment. Raises UsageError."""
    explain(flags.path, Settings(flags))
    return EXIT_CLEAN


def explain(path: str, settings: Settings) -> None:
    """Print the settings that hold for a file, or for a folder's files. Raises UsageError."""
    if not is_there(path):
        raise UsageError(f"{path}: no such file or folder")
    try:
        # A folder's settings are those of a file in it.
        file = str(Path(path, "x.cu")) if is_folder(path) else path
        loaded = settings.of(file)
    except ConfigError as error:
        raise UsageError(str(error)) from None
    where = f"config file {printable(str(loaded.file))}" if loaded.file else "no config file"
    print(f"# settings of {printable(path)}, {where}")
    lines = [(f"{key} = {_value(loaded, key)}", loaded.origins.get(key, "default")) for key in KEYS]
    width = min(60, max(len(text) for text, _ in lines))
    for text, origin in lines:
        print(f"{printable(text):<{width}}  # {printable(origin)}")
    if settings.excluded_too:
        print(f"# flag --exclude adds {printable(_toml(settings.excluded_too))}")
    for line in _project_lines(file, _include_dirs(loaded, settings, file)):
        print(f"# {printable(line)}")


def _include_dirs(loaded: Loaded, settings: Settings, file: str) -> Sequence[str]:
    try:
        flags = settings.for_file(file).compile_flags
    except ConfigError:
        return loaded.config.include_dirs
    return (*loaded.config.include_dirs, *flags.quote_dirs, *flags.include_dirs)


def _project_lines(file: str, folders: Sequence[str]) -> Iterator[str]:
    """Where includes are found in the project around ``file``, and which ones nowhere. ``folders``: those of ``-I``."""
    index = project_reader().index(file)
    if index is None or index.tree.flat:
        return
    root = index.tree.root
    yield f"project {root}: {plural(len(index.files), 'file')} read"
    if not index.tree.complete:
        yield "  too large to look at all of it"
    if index.tree.roots:
        yield "include folders, besides that of each file and -I:"
    for folder, count in sorted(index.tree.roots.items(), key=lambda each: (-each[1], each[0])):
        yield f"  {_below(folder, root)} ({plural(count, 'include')})"
    missing = [
        each
        for each in index.missing()
        if not any(is_file(Path(folder, each.name[1:-1])) for folder in folders)
    ]
    if missing:
        yield "includes that no folder resolves:"
    for each in missing[:_MOST_MISSING]:
        yield f"  {each.name} in {plural(each.files, 'file')}: {_below(each.example, root)}"
    if len(missing) > _MOST_MISSING:
        yield f"  and {len(missing) - _MOST_MISSING:,} more"


def _below(path: str, root: str) -> str:
    return str(Path(path).relative_to(root))


def _value(loaded: Loaded, key: str) -> str:
    """The value as TOML writes it; ``(not set)`` for None, which TOML cannot write."""
    value: object = getattr(loaded.config, key.replace("-", "_"))
    if value is None:
        return "(not set)"
    if key == "threads" and isinstance(value, tuple):
        x, y, z = value
        return json.dumps(f"{x}x{y}" if z == 1 else f"{x}x{y}x{z}")
    if isinstance(value, dict):
        pairs = (f"{json.dumps(name)} = {_toml(item)}" for name, item in value.items())
        return f"{{ {', '.join(pairs)} }}" if value else "{}"
    return _toml(value)


def _toml(value: object) -> str:
    items = list(value) if isinstance(value, tuple) else value
    return json.dumps(items, ensure_ascii=False)
