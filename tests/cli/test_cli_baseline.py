"""``--baseline``: what is known is not told again, whatever lines have moved; what is new is."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., tuple[int, str, str]]

CONCISE = ("--format", "concise")


def write(name: str, text: str) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text)


def recorded(file: str = "base.json") -> list[tuple[str, str, int]]:
    entries = json.loads(Path(file).read_text(encoding="utf-8"))["findings"]
    return [(each["path"], each["code"], each["count"]) for each in entries]


def test_written_and_not_told_again(smem: Command) -> None:
    write("a.cu", "BUG\nGRAVE BUG\n")
    write("sub/b.cu", "COST\n")
    code, out, err = smem("check", ".", "--write-baseline", "base.json")
    assert (code, out, err) == (0, "Wrote 4 findings in 2 files to base.json.\n", "")
    assert recorded() == [("a.cu", "SMEM101", 2), ("a.cu", "SMEM201", 1), ("sub/b.cu", "SMEM301", 1)]
    code, out, err = smem("check", ".", "--baseline", "base.json")
    assert (code, out, err) == (0, "4 findings of the baseline not told.\nNo findings in 2 files.\n", "")


def test_lines_may_move_and_one_more_is_new(smem: Command) -> None:
    write("a.cu", "BUG\n")
    smem("check", ".", "--write-baseline", "base.json")
    write("a.cu", "\n\n  BUG\n")
    assert smem("check", ".", *CONCISE, "--baseline", "base.json") == (0, "", "")
    write("a.cu", "\n\n  BUG\n\nBUG\nGRAVE\n")
    code, out, _ = smem("check", ".", *CONCISE, "--baseline", "base.json")
    assert (code, out) == (1, "a.cu:5:1: warning SMEM101 a BUG\na.cu:6:1: error SMEM201 a GRAVE\n")
    write("b.cu", "BUG\n")  # another file
    assert smem("check", "b.cu", *CONCISE, "--baseline", "base.json")[0] == 1


def test_what_is_gone_is_said(smem: Command) -> None:
    write("a.cu", "BUG BUG\n")
    smem("check", ".", "--write-baseline", "base.json")
    write("a.cu", "BUG\n")
    assert smem("check", ".", "--baseline", "base.json")[1].splitlines() == [
        "1 finding of the baseline not told.",
        "1 finding of the baseline not there any more; --write-baseline updates it.",
        "No findings in 1 file.",
    ]


def test_files_are_named_from_the_baseline(
    smem: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("p/src/a.cu", "BUG\n")
    smem("check", "p", "--write-baseline", "p/base.json")
    monkeypatch.chdir(tmp_path / "p" / "src")
    assert smem("check", "a.cu", *CONCISE, "--baseline", "../base.json")[0] == 0
    os.rename(tmp_path / "p", tmp_path / "q")  # noqa: PTH104
    monkeypatch.chdir(tmp_path)
    assert smem("check", str(tmp_path / "q"), *CONCISE, "--baseline", "q/base.json")[0] == 0


@pytest.mark.parametrize("format", ["full", "json", "sarif", "github", "gitlab", "junit"])
def test_every_format_follows(smem: Command, format: str) -> None:
    write("a.cu", "BUG\n")
    smem("check", ".", "--write-baseline", "base.json")
    code, out, _ = smem("check", ".", "--format", format, "--baseline", "base.json")
    assert code == 0 and "a BUG" not in out


def test_known_findings_are_not_fixed(smem: Command) -> None:
    write("a.cu", "BUG old\n")
    smem("check", ".", "--write-baseline", "base.json")
    write("a.cu", "BUG old\nBUG new\n")
    assert smem("check", ".", "--fix", "--baseline", "base.json")[0] == 0
    assert Path("a.cu").read_text() == "BUG old\n new\n"


def test_processes_know_it_too(smem: Command) -> None:
    for name in "abcd":
        write(f"{name}.cu", "__global__ void k(float* o) {\n  __shared__ float s[4];\n  o[0] = 1;\n}\n")
    assert smem("check", ".", "--jobs", "2", "--write-baseline", "base.json")[0] == 0
    assert [entry[0] for entry in recorded()] == ["a.cu", "b.cu", "c.cu", "d.cu"]
    assert smem("check", ".", "--jobs", "2", *CONCISE, "--baseline", "base.json") == (0, "", "")


def test_a_file_that_cannot_be_read_is_still_told(smem: Command) -> None:
    write("a.cu", "BUG\n")
    write("b.cu", "\0")
    code, _, err = smem("check", ".", "--write-baseline", "base.json")
    assert (code, err) == (2, "smem-lsp: b.cu: a binary file, not source text\n")
    assert recorded() == [("a.cu", "SMEM101", 1)]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "cannot be read: No such file or directory"),
        ("{", "no baseline of ours: not valid JSON"),
        ("[" * 100_000, "no baseline of ours: not valid JSON"),
        ("\udcff", "no baseline of ours: not valid JSON"),
        ("[]", 'no baseline of ours: it has no list of "findings"'),
        ('{"findings": []}', "no baseline of ours: its version is not 1"),
        ('{"version": 1, "findings": [{"path": "a"}]}', "no baseline of ours: a finding in it is none: {"),
        ('{"version": 1, "findings": [null]}', "no baseline of ours: a finding in it is none: null"),
    ],
)
def test_a_baseline_that_is_none(smem: Command, text: str | None, problem: str) -> None:
    write("a.cu", "ok\n")
    if text is not None:
        Path("base.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    code, out, err = smem("check", "a.cu", "--baseline", "base.json")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"smem-lsp: --baseline base.json: {problem}")


def test_flags_that_make_no_sense(smem: Command) -> None:
    write("a.cu", "BUG\n")
    assert smem("check", "a.cu", "--baseline", "b", "--write-baseline", "b") == (
        *(2, ""),
        "smem-lsp: --baseline and --write-baseline contradict each other\n",
    )
    os.mkfifo("pipe")  # nobody reads it
    for path in (".", "", "none/base.json", "a.cu", "pipe"):
        code, out, err = smem("check", "a.cu", "--write-baseline", path)
        assert (code, out, err.count("\n")) == (2, "", 1)


@pytest.mark.real_engine
def test_real_findings_outlive_an_edit_above(smem: Command) -> None:
    kernel = (
        "__global__ void k(const float* in, float* out) {\n  __shared__ float s[256];\n"
        "  s[threadIdx.x] = in[threadIdx.x];\n  out[threadIdx.x] = s[255 - threadIdx.x];\n}\n"
        "void run(float* a, float* b) { k<<<1, 256>>>(a, b); }\n"
    )
    write("a.cu", kernel)
    code, out, _ = smem("check", ".", *CONCISE)
    assert (code, out.count("SMEM201")) == (1, 1) and "line 4" in out
    smem("check", ".", "--write-baseline", "base.json")
    write("a.cu", "// a comment\n#include <cstdio>\n" + kernel)
    assert smem("check", ".", *CONCISE, "--baseline", "base.json")[:2] == (0, "")
