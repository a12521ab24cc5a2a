"""Where the real tools are that tests compare against: nvcc, NVIDIA's headers, a C++ compiler.

A machine without them skips those tests and says why; ``SMEM_REQUIRE_TOOLS=1`` (continuous integration) fails
instead.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

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


def _named_roots() -> Iterator[Path]:
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        root = os.environ.get(variable)
        if root:
            yield Path(root)


def _wheel_roots() -> Iterator[Path]:
    for entry in sys.path:
        if Path(entry).name in ("site-packages", "dist-packages"):
            yield Path(entry) / "nvidia" / "cu13"
