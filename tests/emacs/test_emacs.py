"""A whole session in Emacs without a window: eglot connects, diagnostics, code actions, apply, write."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from editor.toolbox import CHECKOUT, emacs
from editor.workspaces import new_workspace
from toolchain import require


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # No umlauts, unlike in the other editors: eglot 1.17 loses diagnostics there, which arrive as they should.
    return new_workspace(tmp_path_factory.mktemp("a folder"))


@pytest.fixture(scope="module")
def session(workspace: Path) -> dict[str, Any]:
    program = emacs()
    probe = subprocess.run(
        [program, "--batch", "--eval", "(require 'eglot)"], capture_output=True, timeout=300, check=False
    )
    require(program if probe.returncode == 0 else None, "no eglot: run tests/editor/setup.sh as root")
    results = workspace / "results.json"
    done = subprocess.run(
        [program, "--batch", "-l", Path(__file__).parent / "session.el"],
        env={
            **os.environ,
            "LC_ALL": "C.UTF-8",
            "HOME": str(workspace.parent),
            "PYTHONPATH": str(CHECKOUT),
            "SMEM_FILE": str(workspace / "smooth.cu"),
            "SMEM_COMMAND": json.dumps([sys.executable, "-m", "smem_lsp", "server"]),
            "SMEM_RESULTS": str(results),
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=600,
        check=False,
    )
    loaded: dict[str, Any] = json.loads(results.read_text(encoding="utf-8")) if results.exists() else {}
    assert done.returncode == 0, f"{loaded.get('failed')}\n{done.stdout}{done.stderr}"
    return loaded


def test_diagnostics_under_the_settings_of_emacs(session: dict[str, Any]) -> None:
    assert session["mode"] == "cuda-mode"
    (finding,) = session["diagnostics"]
    assert finding["source"] == "peaks"
    assert finding["type"] == "eglot-warning"
    assert "24,576 → 16,384 B" in finding["text"] and "4 → 5 blocks/SM on sm_86" in finding["text"]


def test_code_actions(session: dict[str, Any]) -> None:
    merge, suppress = session["actions"]
    assert merge.startswith("Merge signal + peaks: −8,192 B")
    assert suppress == "Suppress SMEM301 here"


def test_the_merge_is_written(session: dict[str, Any], workspace: Path) -> None:
    text = (workspace / "smooth.cu").read_text(encoding="utf-8")
    assert "float (&peaks)[PEAKS] = *reinterpret_cast<float (*)[PEAKS]>(&signal);" in text
    assert "__shared__ float peaks" not in text


def test_the_server_is_let_go(session: dict[str, Any]) -> None:
    assert session["connected"] is False
