"""A workspace that is not trusted is analysed, and nothing that it names is run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from editor.toolbox import needs_browser, once, running_editor
from editor.workspaces import new_workspace


def test_a_workspace_runs_nothing_of_its_own(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> None:
    needs_browser()
    vsix: Path = request.getfixturevalue("vsix")

    def use(folder: Path) -> None:
        own = {"smem.interpreter": "${workspaceFolder}/python3", "smem.path": "${workspaceFolder}/smem-lsp"}
        workspace = new_workspace(folder, **own)
        for name in ("python3", "smem-lsp"):
            program = workspace / name
            program.write_text(f"#!/bin/sh\ntouch '{folder}/ran'\n", encoding="utf-8")
            program.chmod(0o755)
        with running_editor(folder / "editor", vsix, trust=False) as editor:
            editor.drive("untrusted.mjs", folder / "results.json", workspace, seconds=300)

    folder = once(tmp_path_factory, "untrusted", use)
    assert json.loads((folder / "results.json").read_text(encoding="utf-8")) == {"restricted": 1}
    assert not (folder / "ran").exists()
