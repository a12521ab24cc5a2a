"""A machine without Python: the server runs all the same, and says how, and what it cannot do there."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from editor.toolbox import needs_browser, once, running_editor
from editor.workspaces import new_workspace


def test_without_python_the_server_runs_in_webassembly(
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
    assert seen["underlined"] >= 1
    assert seen["toasts"] == 0
    assert re.fullmatch(
        r"smem-lsp \S+ \(WebAssembly\)\W+no Python 3.10, and no nvcc\s.*", seen["status"], re.S
    )
    assert seen["setting"] >= 1
