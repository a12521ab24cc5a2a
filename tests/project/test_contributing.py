"""The paths that CONTRIBUTING.md names exist, and its table has every room, each above those that import it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from project.test_layers import MAY_IMPORT

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "smem_lsp"
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")

# A word is a path if it has a folder in it or ends like a file of ours. `FILE[:KERNEL]` and `.[dev]` are none.
_PATH = re.compile(r"[\w.\-]+(?:/[\w.\-]+)+/?|[\w\-]+\.(?:py|md|json|lark|cu|toml|sh)")
_INSTALLED = ".venv/"


def paths(page: str) -> Iterator[str]:
    """The paths in backticks and in blocks of commands."""
    outside = re.sub(r"```cuda\n.*?```", "", page, flags=re.S)
    commands = re.findall(r"```console\n(.*?)```", outside, re.S)
    spans = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", outside, flags=re.S))
    for text in (*commands, *spans):
        for word in re.sub(r"#.*", "", text).split():
            if _PATH.fullmatch(word) and not word.startswith(_INSTALLED):
                yield word


def exists(path: str) -> bool:
    """From the root or from the package; NNN stands for three digits, NAME for any name."""
    pattern = path.replace("NNN", "[0-9]" * 3).replace("NAME", "*")
    return any(next(folder.glob(pattern), None) is not None for folder in (ROOT, PACKAGE))


def rows(page: str) -> list[list[str]]:
    """The rooms of each row of the table, from the top."""
    table = page.partition("| room | holds |\n|---|---|\n")[2].partition("\n\n")[0]
    return [re.findall(r"`([^`]+)`", line.split("|")[1]) for line in table.splitlines()]


def missing_rooms(page: str) -> set[str]:
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    return rooms - {name.partition("/")[0] for row in rows(page) for name in row}


def imports_downwards(page: str) -> list[str]:
    """Rooms that may import one of a row below theirs."""
    row_of = {name.removesuffix("/occupancy.py"): i for i, row in enumerate(rows(page)) for name in row}

    def place(room: str) -> int | None:
        return row_of.get(room, row_of.get(room.partition("/")[0]))

    found = []
    for room, others in MAY_IMPORT.items():
        here = place(room)
        for other in others:
            there = place(other)
            if here is not None and there is not None and there > here:
                found.append(f"{room} imports {other}")
    return found


def test_every_path_exists() -> None:
    named = list(paths(PAGE))
    assert len(named) > 30
    assert [path for path in named if not exists(path)] == []


def test_every_room_has_a_row_and_every_row_is_a_room() -> None:
    assert missing_rooms(PAGE) == set()
    assert [name for row in rows(PAGE) for name in row if not (PACKAGE / name).exists()] == []


def test_what_a_room_imports_stands_above_it() -> None:
    assert imports_downwards(PAGE) == []


@pytest.mark.parametrize(
    "path",
    [
        "rules/smem999_NAME.py",
        "smem_lsp/rules/smemNNN_NAME.txt",
        "tests/no_such_folder",
        "gone.py",
        "lowering/gone",
    ],
)
def test_a_path_that_is_gone_is_found(path: str) -> None:
    page = (
        f"Look at `{path}` and `SMEM_UPDATE=1 bash {path} -x`.\n```console\nbash {path}  # and why/not\n```\n"
    )
    assert list(paths(page)) == [path, path, path]
    assert not exists(path)


def test_a_room_that_is_left_out_is_found() -> None:
    line = re.compile(r"^\| `ir` \|.*\n", re.M)
    assert missing_rooms(line.sub("", PAGE)) == {"ir"}


def test_a_row_in_the_wrong_place_is_found() -> None:
    line = re.compile(r"^\| `fixes` \|.*\n", re.M)
    found = line.search(PAGE)
    assert found is not None
    below = line.sub("", PAGE).replace("| `cli`, ", f"{found[0]}| `cli`, ")
    assert imports_downwards(below) == ["engine imports fixes", "output imports fixes"]


def test_what_is_left_to_the_night_has_a_line_that_says_what_finds_it_before() -> None:
    marked = re.compile(r"@pytest\.mark\.(?:sampled|nightly)\b|^from turns import .*\bshare\b", re.M)
    tests = (path for path in (ROOT / "tests").rglob("test_*.py") if path.name != "test_turns.py")
    files = {path.relative_to(ROOT).as_posix() for path in tests if marked.search(path.read_text("utf-8"))}
    table = PAGE.partition("| left out of a commit's run |")[2].partition("\n\n")[0]
    named = {path for line in table.splitlines()[2:] for path in paths(line.split("|")[1])}
    assert files == named
