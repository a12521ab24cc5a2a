"""Headers of the project, found by the end of their path."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from smem_lsp.environment import DiskReader, project, project_tree


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(*names: str, text: str = "") -> None:
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)


def found(name: str, including: str, reader: DiskReader | None = None) -> str | None:
    path = (reader or DiskReader()).search(name, including)
    return None if path is None else os.path.relpath(path)


def test_a_header_anywhere_in_the_project() -> None:
    write("p/setup.py", "p/csrc/common/cuda/helper.hpp", "p/csrc/ops/k.cu")
    assert found("helper.hpp", "p/csrc/ops/k.cu") == "p/csrc/common/cuda/helper.hpp"
    assert found("cuda/helper.hpp", "p/csrc/ops/k.cu") == "p/csrc/common/cuda/helper.hpp"
    assert found("../cuda/./helper.hpp", "p/csrc/ops/k.cu") == "p/csrc/common/cuda/helper.hpp"
    assert found("a/helper.hpp", "p/csrc/ops/k.cu") is None
    assert found("per.hpp", "p/csrc/ops/k.cu") is None


@pytest.mark.parametrize("marker", project.MARKERS)
def test_the_nearest_marker_bounds_the_project(marker: str) -> None:
    write("setup.py", "outside.h", f"p/{marker}", "p/in.h", "p/src/k.cu")
    assert found("in.h", "p/src/k.cu") == "p/in.h"
    assert found("outside.h", "p/src/k.cu") is None


def test_the_outermost_build_file_does_where_nothing_else_is() -> None:
    write("p/CMakeLists.txt", "p/src/CMakeLists.txt", "p/include/a.h", "p/src/k.cu")
    assert found("a.h", "p/src/k.cu") == "p/include/a.h"


def test_without_a_project_nothing_is_searched() -> None:
    write("a/x.h", "a/b/k.cu")
    assert found("x.h", "a/b/k.cu") is None


def test_the_longest_shared_path_decides() -> None:
    write("p/setup.py", "p/k.cu")
    write("p/a/x.h", text="int a;")
    write("p/b/x.h", text="int b;")
    assert found("x.h", "p/a/src/k.cu") == "p/a/x.h"
    assert found("x.h", "p/b/src/k.cu") == "p/b/x.h"
    assert found("x.h", "p/k.cu") is None  # which one?


def test_copies_are_as_good_as_one_file() -> None:
    write("p/setup.py", "p/k.cu")
    write("p/a/x.h", "p/b/x.h", text="int a;")
    assert found("x.h", "p/k.cu") in ("p/a/x.h", "p/b/x.h")


def test_a_file_does_not_include_itself() -> None:
    write("p/setup.py", "p/a/x.h")
    assert found("x.h", "p/a/x.h") is None


def test_what_is_no_source_of_the_project_is_not_seen() -> None:
    write(
        "p/setup.py",
        "p/.hidden/x.h",
        "p/node_modules/x.h",
        "p/env/pyvenv.cfg",
        "p/env/x.h",
        "p/x.py",
        "p/k.cu",
    )
    assert found("x.h", "p/k.cu") is None
    assert found("x.py", "p/k.cu") is None


def test_links_are_not_followed() -> None:
    write("outside/x.h", "p/setup.py", "p/k.cu")
    Path("p/link").symlink_to("../outside", target_is_directory=True)
    Path("p/x.h").symlink_to("../outside/x.h")
    Path("p/up").symlink_to("..", target_is_directory=True)
    assert found("x.h", "p/k.cu") is None


def test_new_files_are_seen_when_the_reader_forgets() -> None:
    write("p/setup.py", "p/k.cu")
    reader = DiskReader()
    assert found("x.h", "p/k.cu", reader) is None
    write("p/inc/x.h")
    assert found("x.h", "p/k.cu", reader) is None
    reader.forget()
    assert found("x.h", "p/k.cu", reader) == "p/inc/x.h"


def test_a_huge_tree_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project_tree, "MAX_FOLDERS", 3)
    write("p/setup.py", "p/k.cu", "p/a/near.h", "p/a/b/c/d/far.h")
    assert found("near.h", "p/k.cu") == "p/a/near.h"
    assert found("far.h", "p/k.cu") is None


def test_an_index_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    write("p/setup.py", "p/a/x.h", "p/k.cu")
    made: list[str] = []
    index = project._walked
    monkeypatch.setattr(project, "_walked", lambda root, flat: made.append(root) or index(root, flat))
    reader = DiskReader()
    for name in ("x.h", "y.h", "x.h"):
        reader.search(name, "p/k.cu")
    assert len(made) == 1


def test_strange_names() -> None:
    write("p/setup.py", "p/k.cu")
    for name in ("", "/", "..", "a\0b.h", "x" * 5000):
        assert found(name, "p/k.cu") is None
