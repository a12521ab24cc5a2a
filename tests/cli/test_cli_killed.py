"""A small share of tests/benchmarks/killed_runs.py."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from benchmarks.killed_runs import killed_runs


@pytest.mark.slow(seconds=8)
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_killed_runs_change_nothing(tmp_path: Path) -> None:
    paths = [f"tests/kernels/{name}" for name in ("01_existing_barrier.cu",)]
    paths += ["tests/examples/gemm.cu", "docs/examples/reverse.cu"]
    assert killed_runs(tmp_path, paths, runs=4, jobs=2, seed=7, every=4) is None
