"""The progress bar: what it says of the rest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from smem_lsp.cli.progress import bar


@pytest.mark.parametrize(
    ("done", "total", "seconds", "words"),
    [
        (0, 40, 2.0, "0/40 files"),
        (10, 40, 2.0, "10/40 files, 5.0/s, 0:06 left"),
        (1_000, 50_000, 10.0, "1,000/50,000 files, 100/s, 8:10 left"),
        (1, 100, 45.0, "1/100 files, 1.3/min, 1:14:15 left"),
        (40, 40, 4.0, "40/40 files, 10/s, 0:00 left"),
    ],
)
def test_what_it_says(done: int, total: int, seconds: float, words: str) -> None:
    drawn, _, said = bar(done, total, seconds).partition("] ")
    assert said == words
    assert drawn.count("#") == 30 * done // total and len(drawn) == 31


@pytest.mark.slow(seconds=4)
@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo terminals")
def test_it_is_drawn_on_a_terminal_and_nowhere_else(tmp_path: Path) -> None:
    import pty

    for number in range(2):
        (tmp_path / f"{number}.cu").write_text("int a;\n")
    program = (
        "import sys, time; from smem_lsp.cli import progress; progress._AFTER = 0.0\n"
        "from smem_lsp.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", program, "check", ".", "--jobs", "1"]
    leader, follower = pty.openpty()
    done = subprocess.run(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=follower, check=False)
    os.close(follower)
    drawn = os.read(leader, 4096).decode()
    os.close(leader)
    assert (done.returncode, done.stdout) == (0, b"No findings in 2 files.\n")
    assert "1/2 files, " in drawn and drawn.endswith("\r\x1b[K")
    piped = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert piped.stderr == b""
