"""``--format``: what GitLab and JUnit's readers get from a run, and where it goes."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., tuple[int, str, str]]


def test_both_spellings_are_one_flag(smem: Command) -> None:
    Path("a.cu").write_text("BUG\n")
    assert smem("check", "a.cu", "--format", "concise") == smem("check", "a.cu", "--output-format", "concise")


@pytest.mark.real_engine
@pytest.mark.parametrize(
    "command",
    [("rules",), ("explain", "SMEM101"), ("layout", "a.cu"), ("trace", "a.cu")],
    ids=lambda words: words[0],
)
def test_every_command_takes_both(smem: Command, command: tuple[str, ...]) -> None:
    Path("a.cu").write_text(
        "__global__ void k(int* o) { __shared__ int s[64]; s[threadIdx.x] = 1; *o = s[0]; }\n"
    )
    answer = smem(*command, "--format", "json")
    assert answer[0] == 0 and json.loads(answer[1])
    assert smem(*command, "--output-format", "json") == answer


def test_gitlab(smem: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    Path("a.cu").write_text("BUG\nBUG COST\n")
    monkeypatch.setenv("CI_PROJECT_DIR", str(tmp_path.parent))
    code, out, err = smem("check", ".", "gone.cu", "--format", "gitlab")
    assert (code, err) == (2, "smem-lsp: gone.cu: no such file or folder\n")
    gone, *found = json.loads(out)
    assert (gone["description"], gone["severity"]) == ("not checked: no such file or folder", "blocker")
    assert [each["severity"] for each in found] == ["major", "major", "minor"]
    assert {each["location"]["path"] for each in found} == {f"{tmp_path.name}/a.cu"}
    assert len({each["fingerprint"] for each in (gone, *found)}) == 4


def test_github_says_what_could_not_be_checked(smem: Command) -> None:
    Path("a,b.cu").write_bytes(b"\0")
    Path("c.cu").write_text("BUG\n")
    code, out, err = smem("check", ".", "--format", "github")
    assert (code, err) == (2, "smem-lsp: a,b.cu: a binary file, not source text\n")
    first, second = out.splitlines()
    assert first == "::error title=smem-lsp,file=a%2Cb.cu::not checked: a binary file, not source text"
    assert second.startswith("::warning title=SMEM101,file=c.cu,")


def test_junit_fails_what_fails_the_run(smem: Command) -> None:
    Path("a.cu").write_text("BUG COST\n")
    Path("b.cu").write_text("ok\n")
    code, out, _ = smem("check", ".", "--format", "junit")
    assert (code, ET.fromstring(out).attrib["failures"]) == (1, "1")
    code, out, _ = smem("check", ".", "--format", "junit", "--fail-on", "info")
    assert (code, ET.fromstring(out).attrib["failures"]) == (1, "2")
    code, out, _ = smem("check", ".", "--format", "junit", "--fail-on", "error")
    assert (code, ET.fromstring(out).attrib["failures"]) == (0, "0")


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize("format", ["full", "json", "sarif", "gitlab", "junit", "github", "concise"])
def test_only_the_modules_of_the_format_are_imported(format: str) -> None:
    Path("a.cu").write_text("__global__ void k() { __shared__ float s[4]; }\n")
    every = ("full", "sarif", "gitlab", "junit", "github", "concise")
    script = (
        "import sys; from smem_lsp.cli import main; main(sys.argv[1:]);"
        f"print(*[m for m in {every} if 'smem_lsp.output.' + m in sys.modules], file=sys.stderr)"
    )
    command = [sys.executable, "-c", script, "check", "a.cu", "--no-cache", "--format", format]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].split() == [each for each in every if each == format]


@pytest.mark.parametrize("format", ["full", "concise", "json", "sarif", "github", "gitlab", "junit"])
def test_the_file_holds_what_stdout_would(smem: Command, format: str) -> None:
    Path("ü.cu").write_text("BUG\n")
    flags = ("check", ".", "--format", format)
    code, out, _ = smem(*flags, "--quiet")
    assert smem(*flags, "--quiet", "--output-file", "f.txt") == (code, "", "")
    assert Path("f.txt").read_text(encoding="utf-8") == out
    assert smem(*flags, "--output-file", "f.txt")[1].startswith("1 finding (1 warning) in 1 of 1 file.\n")
    assert smem(*flags, "--output-file", "-", "--quiet")[1] == out


def test_a_file_has_no_colours_unless_asked_for(smem: Command) -> None:
    Path("a.cu").write_text("BUG\n")
    smem("check", "a.cu", "--output-file", "f.txt")
    assert "\x1b" not in Path("f.txt").read_text()
    smem("check", "a.cu", "--output-file", "f.txt", "--color", "always")
    assert "\x1b" in Path("f.txt").read_text()


def test_a_diff_goes_there_too(smem: Command) -> None:
    Path("a.cu").write_text("BUG\n")
    code, out, _ = smem("check", "a.cu", "--diff", "--output-file", "f.txt")
    assert (code, out) == (1, "Would fix 1 finding in 1 file.\n")
    assert Path("f.txt").read_text().startswith("--- a.cu\n+++ a.cu\n")


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("none/f.txt", "--output-file none/f.txt: no folder none"),
        (".", "--output-file .: a folder"),
        ("", "--output-file names no file"),
        ("a.cu", "--output-file a.cu: CUDA source, not overwritten"),
    ],
)
def test_a_file_that_cannot_be_written(smem: Command, path: str, problem: str) -> None:
    Path("a.cu").write_text("BUG\n")
    assert smem("check", "a.cu", "--output-file", path) == (2, "", f"smem-lsp: {problem}\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_told(smem: Command) -> None:
    Path("a.cu").write_text("BUG\n")
    code, _, err = smem("check", "a.cu", "--output-file", "/dev/full")
    assert (code, err) == (2, "smem-lsp: --output-file /dev/full: No space left on device\n")
