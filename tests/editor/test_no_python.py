"""A machine without Python: the user is told what is missing, and gets a button that leads to the setting."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from editor.toolbox import needs_browser, once, running_editor
from editor.workspaces import new_workspace


def test_without_python_there_is_an_error_with_a_button(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> None:
    needs_browser()
    vsix: Path = request.getfixturevalue("vsix")

    def use(folder: Path) -> None:
        programs = folder / "bin"
        programs.mkdir()
        for name in ("sh", "env", "uname", "cat", "ps", "grep"):  # what VS Code itself may look for
            found = shutil.which(name)
            if found is not None:
                (programs / name).symlink_to(found)
        with running_editor(folder / "editor", vsix, path=programs) as editor:
            results = folder / "results.json"
            editor.drive("no_python.mjs", results, new_workspace(folder), seconds=300)

    folder = once(tmp_path_factory, "no python", use)
    seen = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert seen["message"] == "smem-lsp needs Python 3.10 or newer. There is none on PATH."
    assert seen["buttons"] == ["Open Setting", "Show Logs"]
    assert seen["setting"] >= 1
