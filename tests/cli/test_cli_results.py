"""A second run over files that nobody has touched checks none of them, and says the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import smem_lsp.engine
from smem_lsp.cli.results import NotingReader
from smem_lsp.engine import FileReport
from smem_lsp.environment.result_store import ResultStore
from smem_lsp.source import FileReader, OutOfBudget

pytestmark = pytest.mark.real_engine

Command = Callable[..., tuple[int, str, str]]
KERNEL = """\
#include "size.cuh"
__global__ void k(float* out) {
  __shared__ float unused[SIZE];
  __shared__ float row[SIZE];
  row[threadIdx.x] = out[threadIdx.x];
  out[threadIdx.x] = row[SIZE - 1 - threadIdx.x];
}
void go(float* out) { k<<<1, SIZE>>>(out); }
"""


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The files that the engine checks, in order; results are kept in a folder of the test."""
    monkeypatch.setattr("smem_lsp.cli.checking.user_result_store", lambda: ResultStore(tmp_path / "results"))
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    (project / "k.cu").write_text(KERNEL)
    (project / "size.cuh").write_text("#define SIZE 64\n")
    found: list[str] = []
    check = smem_lsp.engine.check

    def noted(text: str, *, path: str, **others: object) -> FileReport:
        found.append(path)
        return check(text, path=path, **others)  # type: ignore[arg-type]

    monkeypatch.setattr(smem_lsp.engine, "check", noted)
    return found


def results(project: Path) -> list[Path]:
    return sorted((project.parent / "results").iterdir())


@pytest.mark.parametrize("format", ["full", "concise", "json", "sarif"])
def test_the_second_run_says_the_same_and_checks_nothing(
    checked: list[str], smem: Command, format: str
) -> None:
    first = smem("check", "k.cu", "--format", format)
    assert "SMEM101" in first[1] and checked == ["k.cu"]
    assert smem("check", "k.cu", "--format", format) == first
    assert checked == ["k.cu"]
    assert smem("check", "k.cu", "--format", format, "--no-cache") == first
    assert checked == ["k.cu"] * 2


def test_of_many_files_only_those_that_changed_are_given_to_processes(
    checked: list[str], smem: Command
) -> None:
    names = [f"{name}.cu" for name in "abc"]
    for name in names:
        Path(name).write_text(KERNEL)
    first = smem("check", *names, "--jobs", "1")
    Path("b.cu").write_text(KERNEL.replace("unused", "unseen"))
    (code, out, error) = smem("check", *names, "--jobs", "3")
    assert (code, out.replace("unseen", "unused"), error) == first
    assert checked == [*names, "b.cu"]  # alone, so that no process was started for it


def test_a_run_that_knows_all_results_imports_no_analysis(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(KERNEL)
    (tmp_path / "size.cuh").write_text("#define SIZE 64\n")
    (tmp_path / "setup.py").touch()
    code = (
        "import sys; from smem_lsp.cli import main; main(['check', *sys.argv[1:]]);"
        "print([m for m in ('lark', 'smem_lsp.engine', 'smem_lsp.syntax', 'smem_lsp.analysis') if m in sys.modules])"
    )
    command = [sys.executable, "-c", code, "--jobs", "2"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}

    def run() -> str:
        flags = [*command, "--format", "json", "k.cu", "size.cuh"]
        return subprocess.run(
            flags, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        ).stdout

    first = run().rsplit("\n", 2)[0]
    assert "SMEM101" in first
    assert run() == f"{first}\n[]\n"


@pytest.mark.slow(seconds=3)
def test_whatever_a_result_depends_on_is_looked_at(checked: list[str], smem: Command) -> None:
    def changes(change: Callable[[], object], *flags: str) -> bool:
        """Is the file checked again?"""
        smem("check", "k.cu", *flags)
        before = len(checked)
        change()
        smem("check", "k.cu", *flags)
        return len(checked) > before

    header, main = Path("size.cuh"), Path("k.cu")
    assert not changes(lambda: os.utime("size.cuh", (1, 1)))
    assert changes(lambda: header.write_text("#define SIZE 128\n"))
    assert changes(lambda: main.write_text(KERNEL + "// more\n"))
    assert not changes(lambda: main.write_text(KERNEL))  # known from before
    assert changes(lambda: Path("smem.toml").write_text("threads = 256\n"))
    assert changes(lambda: main.write_text('#include "late.cuh"\n' + KERNEL))
    assert changes(lambda: Path("late.cuh").write_text("#define LATE\n"))  # it did not exist
    assert changes(header.unlink)
    before = len(checked)
    smem("check", "k.cu", "--select", "SMEM101")
    assert len(checked) == before + 1


@pytest.mark.parametrize(("reason", "runs"), [("effort", 1), ("time", 2), ("memory", 2)])
def test_what_was_left_out_for_its_effort_is_told_again_as_it_was(
    checked: list[str], smem: Command, monkeypatch: pytest.MonkeyPatch, reason: str, runs: int
) -> None:
    """How much time and memory there was depends on the machine, so those are tried again."""

    def raises(*_: object) -> None:
        raise OutOfBudget(reason)

    monkeypatch.setattr("smem_lsp.facts.kernel_analysis.KernelAnalysis.banks", property(raises))
    first = smem("check", "k.cu")
    assert "SMEM004" in first[1] and reason in first[1]
    assert smem("check", "k.cu") == first
    assert checked == ["k.cu"] * runs


def test_an_analysis_that_failed_is_tried_again(
    checked: list[str], smem: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raises(*_: object) -> None:
        raise KeyError

    monkeypatch.setattr("smem_lsp.facts.kernel_analysis.KernelAnalysis.banks", property(raises))
    first = smem("check", "k.cu")
    assert first[0] == 2 and "internal error" in first[2]
    assert smem("check", "k.cu") == first
    assert checked == ["k.cu"] * 2


def test_a_result_that_is_damaged_counts_as_none(checked: list[str], smem: Command) -> None:
    first = smem("check", "k.cu")
    (result,) = results(Path.cwd())
    whole = result.read_bytes()
    for damaged in (b"", whole[: len(whole) // 2], whole[:-1] + bytes([whole[-1] ^ 1]), b"x" * 100):
        result.write_bytes(damaged)
        checked.clear()
        assert smem("check", "k.cu") == first
        assert checked == ["k.cu"] and result.read_bytes() == whole


def pack(text: bytes) -> bytes:
    body = zlib.compress(text, 1)
    return zlib.crc32(body).to_bytes(4, "big") + body


def strange(whole: bytes) -> dict[str, bytes]:
    """Results with their right checksums and other forms."""
    asked, result = json.loads(zlib.decompress(whole[4:]))
    forms: dict[str, Any] = {
        "number": 5,
        "list": [],
        "other questions": [5, result],
        "a question without an answer": [[[]], result],
        "a question of too many words": [[["read", "k.cu", "more", "still more", None]], result],
        "a question of no word": [[[5, 6]], result],
        "other result": [asked, [5]],
        "empty result": [asked, {}],
        "other text": [asked, {**result, "text": 5}],
        "other findings": [asked, {**result, "findings": "none"}],
        "other headers": [asked, {**result, "headers": 5}],
        "other counts": [asked, {**result, "counts": [["high", 1]]}],
        "other verdicts": [asked, {**result, "verdicts": [[[], []]]}],
    }
    return {name: pack(json.dumps(form).encode()) for name, form in forms.items()}


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_result_of_another_form_counts_as_none(checked: list[str], smem: Command, jobs: str) -> None:
    Path("more.cu").write_text(KERNEL)
    first = smem("check", "k.cu", "more.cu", "--jobs", "1")
    found = {place: strange(place.read_bytes()) for place in results(Path.cwd())}
    for name in next(iter(found.values())):
        for place, forms in found.items():
            place.write_bytes(forms[name])
        assert smem("check", "k.cu", "more.cu", "--jobs", jobs) == first, name


def test_a_result_that_is_much_larger_than_it_looks_counts_as_none(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    store.keep(b"key", [], "result")
    assert store.find(b"key", lambda asked: True) == "result"
    (place,) = tmp_path.iterdir()
    place.write_bytes(pack(b"[[], " + b" " * 70_000_000 + b"5]"))
    assert store.find(b"key", lambda asked: True) is None


def test_a_folder_or_a_pipe_where_a_result_should_be_costs_the_result_alone(
    checked: list[str], smem: Command
) -> None:
    first = smem("check", "k.cu")
    (place,) = results(Path.cwd())
    place.unlink()
    place.mkdir()
    (place / "full").touch()
    assert smem("check", "k.cu") == first
    assert results(Path.cwd()) == [place]  # and nothing that was begun
    (place / "full").unlink()
    place.rmdir()
    os.mkfifo(place)
    assert smem("check", "k.cu") == first


def test_what_was_used_longest_ago_makes_way(
    checked: list[str], smem: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    smem("check", "k.cu")
    (old,) = results(Path.cwd())
    os.utime(old, (1, 1))
    monkeypatch.setattr("smem_lsp.environment.result_store.MOST_BYTES", old.stat().st_size + 100)
    Path("k.cu").write_text(KERNEL + "// more\n")
    smem("check", "k.cu")
    assert len(results(Path.cwd())) == 1 and not old.exists()


def test_what_is_rewritten_is_checked(checked: list[str], smem: Command) -> None:
    smem("check", "k.cu", "--diff")
    smem("check", "k.cu", "--diff")
    assert len(checked) > 1


def test_a_folder_that_cannot_be_written_to_costs_the_result_alone(
    checked: list[str], smem: Command, tmp_path: Path
) -> None:
    (tmp_path / "results").write_text("no folder")
    assert smem("check", "k.cu") == smem("check", "k.cu")
    assert checked == ["k.cu"] * 2


def test_every_question_to_the_disk_is_noted() -> None:
    questions = {name for name in vars(FileReader) if not name.startswith("_")}
    assert questions == {name for name in vars(NotingReader) if name in questions}


def test_a_caller_in_another_file_that_changes_is_seen(checked: list[str], smem: Command) -> None:
    Path("setup.py").touch()
    Path("ops.cu").write_text(
        "__global__ void k(float* p) {\n  __shared__ float s[64];\n  s[threadIdx.x % 64] = p[0];\n"
        "  __syncthreads();\n  p[threadIdx.x] = s[0];\n}\nvoid run(float* p, int n) { k<<<1, n>>>(p); }\n"
    )
    for threads in (64, 32):
        Path("main.cpp").write_text(
            f"void run(float* p, int n);\nvoid all(float* p) {{ run(p, {threads}); }}\n"
        )
        for _ in range(2):
            (_, out, _) = smem("check", "ops.cu", "--format", "json")
            (launch,) = json.loads(out)["kernels"][0]["launches"]
            assert launch["threads"] == threads
    assert checked.count("ops.cu") == 2
