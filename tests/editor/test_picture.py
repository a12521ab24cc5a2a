"""The picture of the editor in the README: a screenshot of the packaged extension at work.

``SMEM_UPDATE=1 bash tests/run tests/editor/test_picture.py`` takes it again. Pixels differ between machines, so what
is compared is what the screen says."""

from __future__ import annotations

import json
import os
import re
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest
from editor.toolbox import ARTIFACTS, CHECKOUT, Editor, needs_browser, once

(NAME,) = re.findall(
    r"^!\[[^\]]+\]\((\S+\.png)\)$", (CHECKOUT / "README.md").read_text(encoding="utf-8"), re.M
)
PICTURE = CHECKOUT / NAME


@pytest.fixture(scope="module")
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    needs_browser()

    def use(folder: Path) -> None:
        editor: Editor = request.getfixturevalue("editor")
        workspace = folder / "workspace"
        (workspace / ".vscode").mkdir(parents=True)
        (workspace / ".vscode" / "settings.json").write_text('{"editor.fontSize": 12}', encoding="utf-8")
        shutil.copy(CHECKOUT / "tests/examples/three_stages.cu", workspace)
        editor.drive("picture.mjs", folder / "results.json", workspace, seconds=300)

    folder = once(tmp_path_factory, "picture", use)
    if os.environ.get("SMEM_UPDATE"):
        shutil.copy(ARTIFACTS / "picture.png", PICTURE)
    loaded: dict[str, Any] = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return loaded


def test_what_it_shows(seen: dict[str, Any]) -> None:
    assert re.match(
        # before nvcc has counted registers, or behind it
        r"24\.0 → 17\.0 KiB · 6 → (≤ )?8 blocks/SM \(256 threads, (\d+ registers|registers not known)\)",
        seen["lens"],
    )
    assert seen["headline"].startswith("24,576 → 17,408 B shared")
    assert seen["squiggles"] >= 1
    assert seen["map"] == 6  # three buffers as declared, and in the best layout


def test_it_is_small_and_of_the_same_window(seen: dict[str, Any]) -> None:
    """Of the repository and of this run."""
    for picture in (PICTURE, ARTIFACTS / "picture.png"):
        head = picture.read_bytes()[:24]
        assert head.startswith(b"\x89PNG\r\n\x1a\n")
        assert struct.unpack(">II", head[16:]) == (1280, 780)
        assert picture.stat().st_size <= 200_000
