"""A whole session in Neovim without a window: open, diagnostics, code actions, apply, write."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from editor.toolbox import CHECKOUT, neovim
from editor.workspaces import new_workspace


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_workspace(tmp_path_factory.mktemp("Ordner mit Übung"))


@pytest.fixture(scope="module")
def session(workspace: Path) -> dict[str, Any]:
    results = workspace / "results.json"
    done = subprocess.run(
        [
            neovim(),
            "--headless",
            "-u",
            "NONE",
            "-i",
            "NONE",
            "-c",
            f"luafile {Path(__file__).parent / 'session.lua'}",
        ],
        env={
            **os.environ,
            "PYTHONPATH": str(CHECKOUT),
            "XDG_STATE_HOME": str(workspace.parent),
            "XDG_CACHE_HOME": str(workspace.parent),
            "SMEM_FILE": str(workspace / "smooth.cu"),
            "SMEM_COMMAND": json.dumps([sys.executable, "-m", "smem_lsp", "server"]),
            "SMEM_RESULTS": str(results),
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=600,
        check=False,
    )
    loaded: dict[str, Any] = json.loads(results.read_text(encoding="utf-8")) if results.exists() else {}
    assert done.returncode == 0, f"{loaded.get('failed')}\n{done.stdout}{done.stderr}"
    return loaded


def test_diagnostics(session: dict[str, Any]) -> None:
    assert session["filetype"] == "cuda"
    (finding,) = session["diagnostics"]
    assert finding["code"] == "SMEM301"
    assert finding["text"] == "peaks"
    assert finding["severity"] == 2
    assert "24,576 → 16,384 B" in finding["message"]


def test_code_actions(session: dict[str, Any]) -> None:
    titles = [action["title"] for action in session["actions"] if action["kind"] == "quickfix"]
    assert titles[0].startswith("Merge signal + peaks: −8,192 B")
    assert any(title.startswith("Suppress SMEM301") for title in titles)


def test_hover(session: dict[str, Any]) -> None:
    assert "8,192 B" in session["hover"]


def test_the_merge_is_written(session: dict[str, Any], workspace: Path) -> None:
    text = (workspace / "smooth.cu").read_text(encoding="utf-8")
    assert "float (&peaks)[PEAKS] = *reinterpret_cast<float (*)[PEAKS]>(&signal);" in text
    assert "__shared__ float peaks" not in text
