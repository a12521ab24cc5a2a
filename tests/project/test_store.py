"""What compilers said is found again, and never for anything but what they were asked."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import store
from store import Said, answered, compiled, dependencies, prune
from toolchain import cxx, require

TEXT = '#include "size.h"\nint a[SIZE];\n'
Run = Callable[[], Said]


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty store, beside headers in ``headers`` and a text in ``first``."""
    require(cxx(), "g++ is not installed")
    monkeypatch.setenv("SMEM_TEST_STORE", str(tmp_path / "store"))
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.cpp").write_text(TEXT, "utf-8")
    (tmp_path / "headers").mkdir()
    (tmp_path / "headers" / "size.h").write_text("#define SIZE 4\n", "utf-8")
    return tmp_path / "store"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sources that a compiler was started for."""
    texts: list[str] = []
    run = subprocess.run

    def noted(command: list[str], **options: object) -> object:
        if "-S" in command:
            texts.append(command[-1])
        return run(command, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(store.subprocess, "run", noted)
    return texts


def assembly(folder: Path, *flags: str) -> str:
    """Of the text in ``folder``, with an empty folder for what is made."""
    (folder / "a.s").unlink(missing_ok=True)
    command = ["g++", *flags, f"-I{folder.parent / 'headers'}", "-S", "a.cpp", "-o", "a.s"]
    said = compiled(command, folder, ["a.s"])
    assert said.code == 0, said.stderr
    assert said.made == {"a.s": (folder / "a.s").read_bytes()}
    return (folder / "a.s").read_text("utf-8")


def entries(kept: Path) -> list[Path]:
    return [path for path in kept.rglob("*") if path.is_file()]


def test_what_was_asked_before_is_not_asked_again(tmp_path: Path, kept: Path, started: list[str]) -> None:
    first = assembly(tmp_path / "first")
    assert len(entries(kept)) == 1
    assert assembly(tmp_path / "first") == assembly(tmp_path / "second") == first
    assert len(started) == 1


def text_changes(folder: Path) -> None:
    (folder / "a.cpp").write_text(TEXT + "int b;\n", "utf-8")


def header_changes(folder: Path) -> None:
    (folder.parent / "headers" / "size.h").write_text("#define SIZE 5\n", "utf-8")


def header_is_gone(folder: Path) -> None:
    (folder.parent / "headers" / "size.h").unlink()
    (folder / "size.h").write_text("#define SIZE 6\n", "utf-8")


@pytest.mark.parametrize("change", [text_changes, header_changes, header_is_gone])
def test_what_has_changed_is_asked_again(
    tmp_path: Path, started: list[str], change: Callable[[Path], None]
) -> None:
    first = assembly(tmp_path / "first")
    change(tmp_path / "first")
    assert assembly(tmp_path / "first") != first
    assert len(started) == 2


def test_flags_and_variables_are_part_of_the_question(
    tmp_path: Path, started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = assembly(tmp_path / "first")
    assert assembly(tmp_path / "first", "-g") != first
    monkeypatch.setenv("CPATH", str(tmp_path))
    assert assembly(tmp_path / "first") == first
    assert len(started) == 3


def test_another_compiler_is_another_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["g++", "-S", "a.cpp"]
    before = store._place(words, tmp_path / "first", {}, {})
    assert before is not None
    monkeypatch.setattr(store, "_programs", lambda compiler: "another")
    assert store._place(words, tmp_path / "first", {}, {}) not in (None, before)
    monkeypatch.setattr(store, "_programs", lambda compiler: None)
    assert store._place(words, tmp_path / "first", {}, {}) is None


def test_headers_of_a_checkout_that_lies_elsewhere_are_the_same(
    tmp_path: Path, started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def at(name: str) -> str:
        monkeypatch.setattr(store, "_roots", lambda compiler: {"checkout": tmp_path / name})
        command = ["g++", f"-I{tmp_path / name}", "-S", "a.cpp", "-o", "a.s"]
        return compiled(command, tmp_path / "first", ["a.s"]).made["a.s"].decode()

    shutil.copytree(tmp_path / "headers", tmp_path / "elsewhere")
    first = at("headers")
    (tmp_path / "first" / "a.s").unlink()
    assert at("elsewhere") == first
    assert len(started) == 1
    (tmp_path / "first" / "a.s").unlink()
    (tmp_path / "elsewhere" / "size.h").write_text("#define SIZE 7\n", "utf-8")
    assert at("elsewhere") != first


def spoil(entry: Path, at: int) -> None:
    content = bytearray(entry.read_bytes())
    content[at] ^= 1
    entry.write_bytes(content)


@pytest.mark.parametrize("at", [0, 31, 32, 60, -1])
def test_a_damaged_entry_is_none(tmp_path: Path, kept: Path, started: list[str], at: int) -> None:
    first = assembly(tmp_path / "first")
    (entry,) = entries(kept)
    spoil(entry, at)
    assert assembly(tmp_path / "first") == first
    entry.write_bytes(entry.read_bytes()[:at] if at else b"")
    assert assembly(tmp_path / "first") == first
    assert len(started) == 3


def test_a_text_that_is_refused_is_asked_about_again(tmp_path: Path, kept: Path) -> None:
    (tmp_path / "first" / "a.cpp").write_text("int a = ;\n", "utf-8")
    for _ in range(2):
        said = compiled(["g++", "-S", "a.cpp"], tmp_path / "first", ["a.s"])
        assert said.code == 1 and "error" in said.stderr and not said.made
    assert entries(kept) == []


def test_a_compiler_that_takes_too_long_has_not_answered(tmp_path: Path, kept: Path) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        compiled(["g++", "-S", "a.cpp"], tmp_path / "first", seconds=0)
    assert entries(kept) == []


@pytest.mark.parametrize("where", ["0", "/dev/null/store"])
def test_it_works_where_nothing_can_be_kept(
    tmp_path: Path, kept: Path, started: list[str], monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.setenv("SMEM_TEST_STORE", where)
    assert assembly(tmp_path / "first") == assembly(tmp_path / "first")
    assert len(started) == 2
    assert entries(kept) == []


def test_what_a_program_answers_is_kept_if_it_would_answer_so_again(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"text of a program")
    asked: Iterator[int] = iter(range(10))

    def ask(again: bool) -> bytes:
        return answered(program, b"2 + 2", lambda: (str(next(asked)).encode(), again))

    assert [ask(False), ask(False), ask(True), ask(True), ask(False)] == [b"0", b"1", b"2", b"2", b"2"]
    assert answered(program, b"2 + 3", lambda: (b"other", True)) == b"other"
    program.write_bytes(b"other text")
    assert ask(True) == b"3"


def test_what_was_used_least_recently_is_removed_first(tmp_path: Path, kept: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"text")
    for at in range(4):
        answered(program, b"%d" % at, lambda: (b"x" * 100, True))
    paths = sorted(entries(kept), key=lambda path: path.name)
    for at, path in enumerate(paths):
        store.os.utime(path, (at, at))
    prune(limit=2 * paths[0].stat().st_size)
    assert sorted(entries(kept), key=lambda path: path.name) == paths[2:]


def test_dependencies_are_read_as_make_reads_them() -> None:
    assert dependencies("a.s: a.cpp /usr/include/b.h \\\n a\\ b/c.h\n") == [
        "a.cpp",
        "/usr/include/b.h",
        "a b/c.h",
    ]
    assert dependencies("a.s: \\\n a.cpp\n") == ["a.cpp"]
