"""Where the real tools are that tests compare against: nvcc, NVIDIA's headers, a C++ compiler.

A machine without them skips those tests and says why; ``SMEM_REQUIRE_TOOLS=1`` (continuous integration) fails
instead.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "smem-lsp" / "readers"
"""What tests fetch from a registry."""

_EXECUTABLE = ".exe" if os.name == "nt" else ""


def nvcc() -> Path | None:
    """The compiler of ``CUDA_HOME``, of ``CUDA_PATH``, on ``PATH``, or of the PyPI wheels, in this order."""
    on_path = shutil.which("nvcc")
    candidates = [
        *(root / "bin" / f"nvcc{_EXECUTABLE}" for root in _named_roots()),
        *([Path(on_path)] if on_path else []),
        *(root / "bin" / f"nvcc{_EXECUTABLE}" for root in _wheel_roots()),
    ]
    return next((path for path in candidates if path.is_file()), None)


def cuda_include() -> Path | None:
    """The folder of ``cuda_occupancy.h`` and ``cuda_runtime.h``: of a toolkit, or of the PyPI wheels."""
    on_path = shutil.which("nvcc")
    roots = [
        *_named_roots(),
        *([Path(on_path).resolve().parent.parent] if on_path else []),
        # nvcc on PATH may be a shell wrapper, which resolves to itself.
        Path("/usr/local/cuda"),
        *_wheel_roots(),
    ]
    folders = (root / "include" for root in roots)
    return next((folder for folder in folders if (folder / "cuda_occupancy.h").is_file()), None)


def cxx() -> Path | None:
    """g++."""
    found = shutil.which("g++")
    return Path(found) if found else None


def require(tool: Path | None, why: str) -> Path:
    """``tool``; where it is None the test skips with ``why``, or fails under ``SMEM_REQUIRE_TOOLS=1``."""
    if tool is not None:
        return tool
    if os.environ.get("SMEM_REQUIRE_TOOLS") == "1":
        pytest.fail(f"{why} (SMEM_REQUIRE_TOOLS=1)", pytrace=False)
    pytest.skip(why)


def npm_package(name: str, sha256: str) -> Path:
    """The archive of ``@scope/package@version``, fetched once; without npm or its registry the test skips or fails."""
    editor = Path(os.environ.get("SMEM_EDITOR_CACHE") or CACHE.parent / "editor") / "bin" / "npm"
    npm = str(editor) if editor.exists() else shutil.which("npm") or "npm"
    file = re.sub(r"[@/]", "-", name).removeprefix("-") + ".tgz"
    archive = require(
        fetched([npm, "pack", name, "--silent"], CACHE / file), "no npm here, or no npm registry"
    )
    assert hashlib.sha256(archive.read_bytes()).hexdigest() == sha256
    return archive


def fetched(command: list[str], made: Path) -> Path | None:
    """``made``, by ``command`` if it is not there; None where that fails."""
    if made.exists():
        return made
    made.parent.mkdir(parents=True, exist_ok=True)
    try:
        subprocess.run(command, cwd=made.parent, capture_output=True, check=True, timeout=300)
    except (OSError, subprocess.SubprocessError):
        return None
    return made if made.exists() else None


def _named_roots() -> Iterator[Path]:
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        root = os.environ.get(variable)
        if root:
            yield Path(root)


def _wheel_roots() -> Iterator[Path]:
    for entry in sys.path:
        if Path(entry).name in ("site-packages", "dist-packages"):
            yield Path(entry) / "nvidia" / "cu13"
