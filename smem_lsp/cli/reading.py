"""What the commands read with: a reader that knows the project around each file."""

from __future__ import annotations

import os
from collections.abc import Iterable

from smem_lsp.environment import DiskReader, Indexing
from smem_lsp.environment.index_store import user_index_store
from smem_lsp.source import is_folder
from smem_lsp.source.file_summary import FileSummary


def project_reader(
    *, reuse: bool = True, folders: tuple[str, ...] = (), isolated: bool = False
) -> DiskReader:
    """``reuse``: what is known of a project is kept for later runs. ``folders``: as ``named_folders`` gives them.
    ``isolated``: compile commands count only where a setting names them."""
    store = user_index_store() if reuse else None
    return DiskReader(indexing=Indexing(_summarised, store, folders=folders, isolated=isolated))


def _summarised(text: str) -> FileSummary:
    from smem_lsp.engine import summarise  # where all is known already, no file is summarised

    return summarise(text)


def named_folders(paths: Iterable[str]) -> tuple[str, ...]:
    """The folders among the paths of a command: each is a project where nothing else says so."""
    return tuple(os.path.abspath(path) for path in paths if is_folder(path))  # noqa: PTH100
