"""The CUDA files of a workspace, and the findings of one that is not open: ``smem/files``, ``smem/check``.

The client asks for one file after another, so it can show how far it is and stop; each is read when nothing else waits
for the worker.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from smem_lsp.config import ConfigError, GitIgnore, LoadedSettings, defaults, discover
from smem_lsp.environment.sources import collect
from smem_lsp.server.uris import uri_of


def cuda_files(folders: Sequence[Path]) -> list[str]:
    """URIs of the files that ``smem-lsp check`` would check in these folders, each once. May take seconds."""
    found: dict[str, None] = {}
    for folder in folders:
        for path in _in_folder(folder):
            found.setdefault(uri_of(path))
    return list(found)


def _in_folder(folder: Path) -> Iterator[str]:
    git = GitIgnore([str(folder)], lambda line: None)
    configs: dict[Path, LoadedSettings] = {}

    def excluded(path: str) -> bool:
        around = Path(path).parent
        if around not in configs:
            configs[around] = _config(around)
        return git.hides(path) or configs[around].excludes(path)

    yield from collect([str(folder)], excluded).files


def _config(folder: Path) -> LoadedSettings:
    try:
        return discover(folder)
    except ConfigError:  # told when a file of the folder is analysed
        return defaults()
