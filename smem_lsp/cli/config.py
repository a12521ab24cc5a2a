"""``smem-lsp config``: the settings in force for a path and where each came from."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from smem_lsp.cli.errors import EXIT_CLEAN, UsageError
from smem_lsp.cli.path_settings import Settings
from smem_lsp.config import KEYS, ConfigError, Loaded
from smem_lsp.source import is_folder, is_there, printable


def run(flags: argparse.Namespace) -> int:
    """Print one line per setting, as a config file would say it, with its origin as a comment."""
    path = flags.path
    if not is_there(path):
        raise UsageError(f"{path}: no such file or folder")
    try:
        # A folder's settings are those of a file in it.
        loaded = Settings(flags).of(str(Path(path, "x.cu")) if is_folder(path) else path)
    except ConfigError as error:
        raise UsageError(str(error)) from None
    where = f"config file {printable(str(loaded.file))}" if loaded.file else "no config file"
    print(f"# settings of {printable(path)}, {where}")
    lines = [(f"{key} = {_value(loaded, key)}", loaded.origins.get(key, "default")) for key in KEYS]
    width = min(60, max(len(text) for text, _ in lines))
    for text, origin in lines:
        print(f"{printable(text):<{width}}  # {printable(origin)}")
    return EXIT_CLEAN


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
