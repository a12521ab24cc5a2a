"""The server of the VSIX where there is no Python: in a thread of Node, with Pyodide."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest
from editor.toolbox import HERE, node, once, run

HEADER = "#pragma once\nconstexpr int POINTS = 4096;\n"


@pytest.fixture(scope="module")
def folder(vsix: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    def use(folder: Path) -> None:
        with zipfile.ZipFile(vsix) as archive:
            archive.extractall(folder / "größe 1")
        workspace = folder / "work space"
        workspace.mkdir()
        text = (HERE / "workspace" / "smooth.cu").read_text(encoding="utf-8")
        declared = next(line for line in text.splitlines() if line.startswith("constexpr int POINTS"))
        (workspace / "smooth.cu").write_text(text.replace(declared, '#include "sizes.h"'), encoding="utf-8")
        (workspace / "sizes.h").write_text(HEADER, encoding="utf-8")
        (workspace / "smem.toml").write_text('arch = "sm_86"\nregisters = 40\n', encoding="utf-8")
        run(
            node(),
            HERE / "web_assembly.mjs",
            folder / "größe 1" / "extension",
            workspace,
            folder / "cache",
            folder / "results.json",
            seconds=300,
            env={**os.environ, "PATH": str(folder / "nothing")},
        )

    return once(tmp_path_factory, "web assembly", use)


@pytest.fixture(scope="module")
def seen(folder: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return loaded


def test_findings_read_headers_and_settings_from_the_disk(seen: dict[str, Any]) -> None:
    assert "SMEM301" in seen["codes"]
    assert seen["lens"].startswith("24.0 → 16.0 KiB · 4 → 5 blocks/SM (256 threads, 40 registers)")


def test_pairs_are_decided(seen: dict[str, Any]) -> None:
    """Z3 comes with it."""
    assert "race-free ✓" in seen["lens"]


def test_a_rewrite_a_hover_and_a_map(seen: dict[str, Any]) -> None:
    assert seen["title"].startswith("Merge")
    assert seen["edits"] > 1
    assert "peaks" in seen["hover"]
    assert seen["svg"].startswith("<svg")


def test_it_ends_at_the_clients_word_and_complains_of_nothing(seen: dict[str, Any]) -> None:
    assert (seen["name"], seen["exit"], seen["log"]) == ("smem-lsp", 0, [])


def test_what_takes_long_is_kept_for_the_next_start(folder: Path) -> None:
    kept = [path.relative_to(folder / "cache") for path in (folder / "cache").rglob("*") if path.is_file()]
    assert any(path.suffix == ".pyc" for path in kept)


def test_licences_of_what_it_is_made_of(folder: Path) -> None:
    bundled = folder / "größe 1" / "extension" / "bundled"
    notices = (bundled / "webassembly-licenses.txt").read_text(encoding="utf-8")
    pyodide = json.loads((bundled.parent / "dist/pyodide/package.json").read_text(encoding="utf-8"))
    (z3,) = bundled.glob("libs-webassembly/z3_solver-*.dist-info")
    assert f"Pyodide {pyodide['version']}" in notices
    assert f"Z3 {'.'.join(z3.name.removesuffix('.dist-info').split('-')[1].split('.')[:3])}" in notices
    for name in "Mozilla Public License Version 2.0|PYTHON SOFTWARE FOUNDATION LICENSE|Emscripten".split("|"):
        assert name in notices, name
