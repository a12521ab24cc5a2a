"""A small share of tests/benchmarks/killed_runs.py."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "killed_runs.py"


@pytest.mark.slow(seconds=8)
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_killed_runs_change_nothing(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("killed_runs", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    paths = [f"tests/kernels/{name}" for name in ("01_existing_barrier.cu",)]
    paths += ["tests/examples/gemm.cu", "docs/examples/reverse.cu"]
    assert module.killed_runs(tmp_path, paths, runs=4, jobs=2, seed=7, every=4) is None
