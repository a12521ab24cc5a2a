"""The HTML map in a browser: a click marks the line, nothing sticks out, and its policy stops none of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from checked import KERNELS, STAGES, checked
from editor.toolbox import chromium, drive, node, once, playwright

from smem_lsp.output import layout_html

each_kernel = pytest.mark.parametrize("name", KERNELS)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    node(), playwright(), chromium()

    def use(folder: Path) -> None:
        pages = []
        for name, text in KERNELS.items():
            pages.append(folder / f"{name}.html")
            pages[-1].write_text(layout_html.render(checked(text), [0]), encoding="utf-8")
        drive("map_page.mjs", folder / "results.json", *pages, seconds=300)

    folder = once(tmp_path_factory, "map page", use)
    loaded: dict[str, Any] = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return loaded


@pytest.fixture(scope="module")
def stages(results: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = results["seen"]["stages"]
    return found


def test_the_browser_complains_of_nothing(results: dict[str, Any]) -> None:
    assert results["complaints"] == []


@each_kernel
@pytest.mark.parametrize("width", ["250", "480", "600", "1440"])
def test_nothing_sticks_out(results: dict[str, Any], name: str, width: str) -> None:
    assert results["seen"][name]["overflow"][width] == {"names": [], "ticks": [], "page": 0}


def test_light_and_dark(stages: dict[str, Any]) -> None:
    assert (stages["light"], stages["dark"]) == ("rgb(255, 255, 255)", "rgb(21, 24, 29)")


def test_a_click_on_a_rectangle_marks_its_lines(stages: dict[str, Any]) -> None:
    lines = STAGES.splitlines()
    bar = stages["bar"]
    assert bar["line"] == ["10"]
    assert bar["within"] == ["11", "12", "13"]
    assert bar["pressed"] == ["c"]
    assert bar["status"].splitlines() == [
        "c  float[512] · 2,048 B, bytes 1,024 to 3,072 · in use on lines 10–13 · shares bytes with a",
        f"10: {lines[9].strip()}",
    ]


def test_a_click_on_a_barrier_marks_its_line(stages: dict[str, Any]) -> None:
    assert (stages["barrier"]["line"], stages["barrier"]["pressed"]) == (["6"], [])


def test_a_name_in_the_table_leads_to_its_declaration(stages: dict[str, Any]) -> None:
    assert stages["declaration"]["line"] == ["2"]


def test_the_keyboard_does_what_the_mouse_does(stages: dict[str, Any]) -> None:
    assert (stages["key"]["line"], stages["key"]["pressed"]) == (["5"], ["a"])
    assert stages["key"]["tip"].startswith("a float[256]\n1,024 B, bytes 0 to 1,024\n")


def test_hover_says_what_a_rectangle_is(stages: dict[str, Any]) -> None:
    assert stages["tip"].splitlines() == [
        "c float[512]",
        "2,048 B, bytes 1,024 to 3,072",
        "in use on lines 10–13",
        "shares bytes with a",
    ]


def test_the_switch_changes_headline_stairs_table_and_drawing_together(stages: dict[str, Any]) -> None:
    best, with_barrier = stages["beside"]
    assert best["headline"] != with_barrier["headline"]
    assert best["headline"].endswith("without another barrier")
    assert with_barrier["headline"].endswith("with 1 added barrier")
    for seen in (best, with_barrier):
        before, after = seen["headline"].split(" B shared")[0].split(" → ")
        assert before == best["headline"].partition(" → ")[0]
        assert f"{after} B" in seen["drawing"]
        assert f"{after} B merged" in seen["stairs"] or not seen["stairs"]
    assert best["table"] != with_barrier["table"]


def test_only_a_page_with_an_editor_behind_it_applies_layouts(stages: dict[str, Any]) -> None:
    assert stages["applies"] == 0


def test_the_switch_shows_one_layout_beside_the_declared_one(stages: dict[str, Any]) -> None:
    assert [[title.split("\n")[0] for title in titles] for titles in stages["shown"]] == [
        ["declared", "best"],
        ["declared", "best with 1 added barrier"],
    ]
