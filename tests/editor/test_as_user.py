"""The main job, by hand: open a kernel, see it underlined, press the light bulb, save, compile."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from editor.toolbox import Editor, needs_browser, once
from editor.workspaces import new_workspace
from toolchain import nvcc, require


@pytest.fixture(scope="module")
def session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the workspace, and of what was seen on the screen."""
    needs_browser()

    def use(folder: Path) -> None:
        editor: Editor = request.getfixturevalue("editor")
        editor.drive("as_user.mjs", folder / "results.json", new_workspace(folder), seconds=600)

    return once(tmp_path_factory, "as user", use)


@pytest.fixture(scope="module")
def seen(session: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((session / "results.json").read_text(encoding="utf-8"))
    return loaded


def test_the_buffer_is_underlined(seen: dict[str, Any]) -> None:
    assert seen["squiggles"] >= 1


def test_problems_names_the_rule_and_says_what_it_costs(seen: dict[str, Any]) -> None:
    (entry,) = [row for row in seen["problems"] if "SMEM301" in row]
    assert "24,576 → 16,384 B" in entry
    assert "4 → 5 blocks/SM on sm_86" in entry


def test_the_rule_is_a_link(seen: dict[str, Any]) -> None:
    assert seen["links"] == ["SMEM301"]
    assert seen["page"].startswith("SMEM301 mergeable-buffers\n")
    assert "```" not in seen["page"]


def test_the_lens_shows_bytes_and_blocks(seen: dict[str, Any]) -> None:
    assert re.search(r"24\.0 → 16\.0 KiB · 4 → (?:≤ )?5 blocks/SM \(256 threads", seen["lens"])
    assert seen["lensAfter"].startswith("16.0 KiB")


def test_the_hover_says_what_the_buffer_is(seen: dict[str, Any]) -> None:
    text = "\n".join(seen["hover"])
    assert "SMEM301" in text
    assert "8,192 B" in text


def test_the_lens_opens_the_map(seen: dict[str, Any]) -> None:
    assert seen["map"]["title"] == "smooth"
    assert seen["map"]["headline"].startswith("24,576 → 16,384 B shared")
    assert seen["map"]["bars"] == ["declared signal", "declared peaks", "best signal", "best peaks"]


def test_the_map_has_the_colours_of_the_editor(seen: dict[str, Any]) -> None:
    assert seen["map"]["background"] == seen["editorBackground"]


def test_a_click_in_the_map_goes_to_the_line(seen: dict[str, Any]) -> None:
    """To the first line of a rectangle, to the line of a barrier."""
    assert seen["places"] == ["Ln 23, Col 1", "Ln 14, Col 1"]


def test_the_light_bulb_offers_the_merge_first(seen: dict[str, Any]) -> None:
    assert seen["bulbs"] >= 1
    offers = [row for row in seen["menu"] if row.strip()]
    merge = next(index for index, row in enumerate(offers) if row.startswith("Merge signal + peaks"))
    silence = next(index for index, row in enumerate(offers) if "SMEM301" in row)
    assert merge < silence


def test_the_saved_text_compiles_to_the_promised_bytes(seen: dict[str, Any], session: Path) -> None:
    (title,) = [row for row in seen["menu"] if row.startswith("Merge signal + peaks")]
    promised = re.search(r"−([\d,]+) B", title)
    assert promised, title
    saved = session / "workspace" / "smooth.cu"
    assert "reinterpret_cast" in saved.read_text(encoding="utf-8")
    assert shared_bytes(saved) == 24576 - int(promised[1].replace(",", ""))


def shared_bytes(source: Path) -> int:
    """Static shared memory of the only kernel in a file, as ptxas prints it."""
    compiler = require(nvcc(), "no nvcc: bytes are not compared")
    done = subprocess.run(
        [compiler, "-cubin", "-arch=sm_86", "-Xptxas", "-v", "-o", source.with_suffix(".cubin"), source],
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    (found,) = re.findall(r"(\d+) bytes smem", done.stderr)
    return int(found)
