"""``--fix`` on the disk: what it may write to, what stays of a file, and what a killed run leaves."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from smem_lsp.environment import SourceError, read_source, write_source, writing

Command = Callable[..., tuple[int, str, str]]


def names(folder: str | Path) -> list[str]:
    return [path.name for path in Path(folder).iterdir()]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "project").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/secret.cu").write_text("BUG\n")
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


@pytest.mark.parametrize("given", ["link.cu", ".", "../project", "folder/secret.cu", "../project/link.cu"])
def test_a_link_that_leads_out_is_not_followed(smem: Command, project: Path, given: str) -> None:
    Path("link.cu").symlink_to("../elsewhere/secret.cu")
    Path("folder").symlink_to("../elsewhere")
    secret = project.parent / "elsewhere/secret.cu"
    code, out, err = smem("check", given, "--fix", "--output-format", "concise")
    assert code == 2
    assert "SMEM101 a BUG" in out  # it is checked all the same
    for line in err.splitlines():
        assert line.endswith(f"not written: it leads out of the given folders, to {secret}")
    assert secret.read_text() == "BUG\n"
    assert names(secret.parent) == ["secret.cu"]


@pytest.mark.parametrize("given", [".", "link.cu", "real/x.cu", "../elsewhere", "tree"])
def test_what_may_be_written(smem: Command, project: Path, given: str) -> None:
    """Links inside of the tree, and what is named outright, a link to a folder too."""
    Path("real").mkdir()
    Path("real/x.cu").write_text("BUG\n")
    Path("link.cu").symlink_to("real/x.cu")
    Path("tree").symlink_to("../elsewhere")
    if given == ".":
        Path("tree").unlink()
    assert smem("check", given, "--fix")[0] == 0
    inside = (
        project.parent / "elsewhere/secret.cu" if given in ("../elsewhere", "tree") else Path("real/x.cu")
    )
    assert inside.read_text() == "\n"
    assert Path("link.cu").is_symlink()


def test_of_several_names_none_is_changed(smem: Command, project: Path) -> None:
    """The other one may stand anywhere."""
    os.link("../elsewhere/secret.cu", "a.cu")
    code, _, err = smem("check", "a.cu", "--fix")
    assert (code, err) == (2, "smem-lsp: a.cu: not written: 2 hard links lead to it\n")
    assert Path("a.cu").read_text() == "BUG\n"
    assert Path("a.cu").samefile("../elsewhere/secret.cu")


def dead() -> int:
    """The number of a process that is no more."""
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return done.pid


def test_leftovers_of_a_killed_run_are_removed(smem: Command, project: Path) -> None:
    gone, here = dead(), os.getpid()
    left = {f".a.cu.smem-lsp-{gone}-0123abcd", f".other name.cu.smem-lsp-{gone}-ffffffff"}
    others = {
        f".a.cu.smem-lsp-{here}-0123abcd",  # at work
        ".a.cu.smem-lsp-1-0123abcd",
        f".a.cu.smem-lsp-{gone}-0123abc",
        f".a.cu.smem-lsp-{gone}-0123abcd~",
        f"a.cu.smem-lsp-{gone}-0123abcd",
        ".a.cu.smem-lsp-9999999999-0123abcd",
        ".a.cu.smem-lsp-x-0123abcd",
        ".a.cu.0123abcd",
    }
    Path("deep").mkdir()
    for folder in (".", "deep", "../elsewhere"):
        for name in left | others:
            Path(folder, name).write_text("half of a f")
            os.utime(Path(folder, name), (0, 0))
    fresh = f".a.cu.smem-lsp-{gone}-89abcdef"  # perhaps of a process on another machine
    Path(fresh).write_text("half of a f")
    Path("a.cu").write_text("ok\n")
    Path("deep/b.cu").write_text("BUG\n")
    Path("out.cu").symlink_to("../elsewhere/secret.cu")
    Path(f".x.smem-lsp-{gone}-00000000").symlink_to("a.cu")
    Path(f".y.smem-lsp-{gone}-00000000").mkdir()
    smem("check", ".")
    smem("check", ".", "--diff")
    assert left <= set(names("."))
    smem("check", ".", "--fix")
    links = {f".x.smem-lsp-{gone}-00000000", f".y.smem-lsp-{gone}-00000000"}
    assert set(names(".")) == {"a.cu", "deep", "out.cu", fresh} | others | links
    assert set(names("deep")) == {"b.cu"} | others
    assert set(names("../elsewhere")) == {"secret.cu"} | left | others


def test_the_temporary_file_has_that_name(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "n" * 240 + "é.cu"
    Path(name).write_text("a\n")
    seen: list[str] = []

    def spy(temporary: Path, target: Path, status: os.stat_result) -> None:
        seen.extend(each for each in names(".") if each != name)
        adopt(temporary, target, status)

    adopt = writing._adopt
    monkeypatch.setattr(writing, "_adopt", spy)
    write_source(read_source(name), "b\n")
    assert len(seen) == 1 and writing._TEMPORARY.fullmatch(seen[0])[1] == str(os.getpid())  # type: ignore[index]
    assert names(".") == [name]


def test_a_file_that_changes_while_it_is_written_is_left_alone(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("a.cu").write_text("a\n")
    source = read_source("a.cu")

    def late(temporary: Path, target: Path, status: os.stat_result) -> None:
        Path("a.cu").write_text("of the author\n")

    monkeypatch.setattr(writing, "_adopt", late)
    with pytest.raises(SourceError, match=r"^a\.cu: not written: it changed while it was checked$"):
        write_source(source, "b\n")
    assert Path("a.cu").read_text() == "of the author\n"
    assert names(".") == ["a.cu"]


def test_a_file_that_has_grown_beyond_the_bound(project: Path) -> None:
    Path("a.cu").write_text("a\n")
    source = read_source("a.cu")
    Path("a.cu").write_bytes(b" " * (9 << 20))
    with pytest.raises(SourceError, match="it changed while it was checked"):
        write_source(source, "b\n")


def test_mode_and_attributes_stay(project: Path) -> None:
    file = Path("a.cu")
    file.write_text("a\n")
    file.chmod(0o4751)
    try:
        os.setxattr(file, "user.note", b"kept")
        attributes = True
    except (OSError, AttributeError):
        attributes = False  # this file system has none
    write_source(read_source("a.cu"), "b\n")
    assert file.read_text() == "b\n"
    assert file.stat().st_mode & 0o7777 == 0o4751
    assert not attributes or os.getxattr(file, "user.note") == b"kept"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give a file away")
def test_owner_and_group_stay(project: Path) -> None:
    Path("a.cu").write_text("a\n")
    os.chown("a.cu", 1234, 4321)
    Path("a.cu").chmod(0o6755)
    write_source(read_source("a.cu"), "b\n")
    status = Path("a.cu").stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (1234, 4321, 0o6755)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs a file of somebody else")
def test_the_file_of_somebody_else_stays_as_it_is() -> None:
    with tempfile.TemporaryDirectory() as folder:  # pytest's own nobody else may enter
        Path(folder).chmod(0o777)
        file = Path(folder, "a.cu")
        file.write_text("a\n")
        file.chmod(0o666)
        source = read_source(str(file))
        os.seteuid(65534)
        try:
            with pytest.raises(SourceError, match=r"cannot be written: its owner and group cannot be kept$"):
                write_source(source, "b\n")
        finally:
            os.seteuid(0)
        assert names(folder) == ["a.cu"]


# ---- what is said of what is not done ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "flags", "words"),
    [
        ("COST RISK\n", (), "2 fixes hidden: `--select SMEM301` (1) or `--unsafe-fixes` (1)."),
        ("COST RISK\n", ("--unsafe-fixes",), "1 fix hidden: `--select SMEM301` (1)."),
        (
            "COST RISK\n",
            ("--select", "SMEM3"),
            "2 fixes hidden: `--select SMEM301` (1) or `--unsafe-fixes` (1).",
        ),
        ("COST RISK\n", ("--select", "smem301"), "1 fix hidden: `--unsafe-fixes` (1)."),
        ("COST COST BUG\n", (), "2 fixes hidden: `--select SMEM301` (2)."),
        ("RISK\n", (), "1 fix hidden: `--unsafe-fixes` (1)."),
        ("GRAVE BUG\n", (), None),
        ("COST RISK\n", ("--unsafe-fixes", "--select", "SMEM301"), None),
    ],
)
def test_hidden_fixes_are_told_with_their_flags(
    smem: Command, text: str, flags: tuple[str, ...], words: str | None
) -> None:
    Path("a.cu").write_text(text)
    expected = [] if words is None else [words]

    def told(output: str) -> list[str]:
        return [line for line in output.splitlines() if "hidden" in line]

    assert told(smem("check", "a.cu", "--diff", *flags)[2]) == expected
    assert told(smem("check", "a.cu", "--fix", "--diff", "--quiet", *flags)[2]) == []
    assert told(smem("check", "a.cu", "--fix", *flags)[1]) == expected
    Path("a.cu").write_text(text)
    assert told(smem("check", "a.cu", "--fix", "--output-format", "json", *flags)[2]) == expected


@pytest.mark.parametrize("flags", [(), ("--unsafe-fixes",)])
def test_the_flags_that_are_told_do_it(smem: Command, flags: tuple[str, ...]) -> None:
    Path("a.cu").write_text("COST RISK\n")
    _, _, err = smem("check", "a.cu", "--diff", *flags)
    offered = [part.strip("`") for part in err.splitlines()[-1].split("`")[1::2]]
    for each in offered:
        code, out, _ = smem("check", "a.cu", "--diff", *dict.fromkeys((*flags, *each.split())))
        assert code == 1 and "\n-COST RISK" in out
