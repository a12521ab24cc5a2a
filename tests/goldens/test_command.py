"""A record is made, kept and compared by the command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from goldens.command import CannotDo, _found, _parser
from goldens.forks import Died, each_in_its_own_process
from goldens.inputs import ROOT, inputs
from goldens.record import Unreadable, read, write
from goldens.rows import line_of

ONLY = ("--only", "kernels/0[1-3]_*.cu")


def goldens(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.goldens", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.slow(seconds=12)
def test_what_is_recorded_twice_is_the_same_and_a_change_is_told(tmp_path: Path) -> None:
    one, two = tmp_path / "one.jsonl.gz", tmp_path / "two.jsonl.gz"
    done = goldens("record", str(one), *ONLY, "--name", "it")
    assert done.returncode == 0, done.stderr
    assert "it: 6 files" in done.stdout
    assert goldens("record", str(two), *ONLY, "--name", "it", "--processes", "1").returncode == 0
    assert one.read_bytes() == two.read_bytes()
    done = goldens("compare", str(one), *ONLY)
    assert (done.returncode, done.stdout.splitlines()[0]) == (
        0,
        "it → the working tree: 6 files compared, 0 differ",
    )
    whole = read(one)
    kept = (row for rows in whole.files.values() for row in rows if row.get("code") != "SMEM202")
    write(two, whole.head, sorted(map(line_of, kept)))
    done = goldens("compare", str(one), str(two))
    assert done.returncode == 1
    assert "findings\n      3  SMEM202 lost\n" in done.stdout


@pytest.mark.slow(seconds=12)
def test_a_commit_is_asked_through_its_own_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing has changed from a commit to itself, whatever is in the working tree."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout: there are no commits to compare with")
    monkeypatch.setenv("SMEM_GOLDENS", str(tmp_path))
    done = goldens("compare", "HEAD", "HEAD", "--only", "kernels/01_existing_barrier.cu")
    assert done.returncode == 0, done.stderr
    assert "1 files compared, 0 differ" in done.stdout
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_done_is_said(tmp_path: Path) -> None:
    done = goldens("compare", "no-such-commit")
    assert (done.returncode, done.stderr) == (2, "goldens: no-such-commit is neither a file nor a commit\n")
    broken = tmp_path / "broken.jsonl.gz"
    broken.write_bytes(b"no record")
    with pytest.raises(Unreadable, match="broken"):
        read(broken)
    with pytest.raises(CannotDo):
        _found(str(tmp_path / "missing.jsonl"), _parser().parse_args(["compare", "x"]))


def test_what_is_absent_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SMEM_SHARED", str(tmp_path / "none"))
    found, absent = inputs(only="[fkes]*/*")
    assert {each.group for each in found} == {"kernels", "families", "examples"}
    assert len(absent) == 1 and "SMEM_SHARED" in absent[0]


def test_each_piece_of_work_has_a_process_that_has_seen_no_other() -> None:
    seen: list[int] = []

    def work(number: int) -> int:
        seen.append(number)
        if number == 3:
            raise ValueError("of the work")
        return len(seen)

    works = ((lambda number=number: work(number)) for number in range(5))
    found = dict(each_in_its_own_process(works, 2))
    assert [found[number] for number in (0, 1, 2, 4)] == [1, 1, 1, 1]
    assert isinstance(found[3], Died)
    assert seen == []
