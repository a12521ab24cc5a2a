"""What an in-host test cannot do: reload the window, choose from lists, save by a dialog, stop a scan."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path
from typing import Any

import pytest
from editor.toolbox import Editor, needs_browser, once
from editor.workspaces import new_workspace

MANY = 200  # files of a workspace that is not scanned to its end

STEP = """
  {0}[tid] = s;
  __syncthreads();
  s += {0}[255 - tid];
  __syncthreads();
"""
FOUR = f"""
__global__ void four(const float* in, float* out) {{
  __shared__ float a[256];
  __shared__ float b[256];
  __shared__ float c[512];
  __shared__ float d[256];
  const int tid = threadIdx.x;
  float s = in[tid];
{"".join(map(STEP.format, "abcd"))}
  out[tid] = s;
}}
void all_four(float* p) {{ four<<<1, 256>>>(p, p); }}
"""


@pytest.fixture(scope="module")
def session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the workspace, and of what was seen on the screen."""
    needs_browser()

    def use(folder: Path) -> None:
        editor: Editor = request.getfixturevalue("editor")
        severities = {"smem.severity": {"SMEM105": "off"}, "smem.severity.SMEM101": "off"}
        # So few that an SM is full of threads: 2,048 on sm_90 and 1,536 on sm_86, whatever nvcc counts meanwhile.
        targets = {"smem.arch": ["sm_90", "sm_86"], "smem.registers": 20}
        workspace = new_workspace(folder, **targets, **severities)
        smooth = (workspace / "smooth.cu").read_text(encoding="utf-8")
        (workspace / "two.cu").write_text(smooth + FOUR, encoding="utf-8")
        (workspace / "many").mkdir()
        for number in range(MANY):
            text = smooth.replace("smooth", f"smooth{number}").replace("__syncthreads();", "", 1)
            (workspace / "many" / f"{number}.cu").write_text(text, encoding="utf-8")
        editor.drive("map_and_pickers.mjs", folder / "results.json", workspace, seconds=900)

    return once(tmp_path_factory, "map and pickers", use)


@pytest.fixture(scope="module")
def seen(session: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((session / "results.json").read_text(encoding="utf-8"))
    return loaded


def test_the_map_follows_the_cursor_into_another_kernel(seen: dict[str, Any]) -> None:
    shown = [(seen[when]["tab"], seen[when]["title"]) for when in ("opened", "followed")]
    assert shown == [("two.cu:8 memory map", "smooth"), ("two.cu:37 memory map", "four")]


def test_the_map_survives_a_reload_of_the_window(seen: dict[str, Any]) -> None:
    assert [seen["reloaded"][what] for what in ("tab", "title")] == ["two.cu:37 memory map", "four"]


@pytest.mark.usefixtures("seen")
def test_the_map_is_saved_as_a_drawing(session: Path) -> None:
    drawing = (session / "workspace" / "two.cu-37.svg").read_text(encoding="utf-8")
    assert drawing.startswith("<svg")
    assert ">four</text>" in drawing


@pytest.mark.usefixtures("seen")
def test_the_map_is_saved_as_a_picture(session: Path) -> None:
    picture = (session / "workspace" / "two.cu-37.png").read_bytes()
    width, height = struct.unpack(">II", picture[16:24])
    drawing = (session / "workspace" / "two.cu-37.svg").read_text(encoding="utf-8")
    size = [float(each) for each in re.findall(r' (?:width|height)="([\d.]+)"', drawing.partition(">")[0])]
    assert picture.startswith(b"\x89PNG") and len(picture) > 2_000
    assert [width, height] == [2 * int(each) for each in size]


def test_the_target_is_chosen_from_a_list(session: Path, seen: dict[str, Any]) -> None:
    assert seen["targets"] == ["sm_90", "sm_86", "The worst", "All"]
    settings = (session / "workspace" / ".vscode" / "settings.json").read_text(encoding="utf-8")
    assert json.loads(settings)["smem.target"] == "sm_86"
    before, after = seen["lenses"]
    assert before != after
    assert "sm_90" in seen["followed"]["numbers"]
    assert "sm_86" in seen["retargeted"]["numbers"]


def test_many_merges_are_a_list(session: Path, seen: dict[str, Any]) -> None:
    assert seen["merges"][::2] == [  # each with a line of details
        "Merge a + b + c + d: −3,072 B",
        "Merge a + d: −1,024 B",
        "Merge b + d: −1,024 B",
        "Merge c + d: −1,024 B",
    ]
    saved = (session / "workspace" / "two.cu").read_text(encoding="utf-8")
    assert "__shared__ float b[256];" in saved
    assert "__shared__ float d[256];" not in saved


def test_a_scan_can_be_stopped(seen: dict[str, Any]) -> None:
    found = re.match(r"(\d+) findings", seen["scan"])
    assert found is None or int(found[1]) < MANY, seen["scan"]


def test_old_keys_of_severities_have_moved_into_the_table(session: Path) -> None:
    settings = json.loads((session / "workspace" / ".vscode" / "settings.json").read_text(encoding="utf-8"))
    assert settings["smem.severity"] == {"SMEM101": "off", "SMEM105": "off"}
    assert "smem.severity.SMEM101" not in settings
