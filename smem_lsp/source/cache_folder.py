"""The user's folder for files that can be rebuilt."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """The platform's cache folder for us. Raises RuntimeError if there is no home folder, or a relative one: that may
    be in the workspace."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or ""
        if not Path(
            base
        ).is_absolute():  # else it could be a folder of the workspace (XDG base directories: ignored)
            base = str(Path.home() / ".cache")
    if not Path(base).is_absolute():
        raise RuntimeError("the home folder is relative")
    return Path(base) / "smem-lsp"


def last_used(path: Path) -> float:
    """When a file in it was last used, by the time stamp that its readers set; 0 if it is gone."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
