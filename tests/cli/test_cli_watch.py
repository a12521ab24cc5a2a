"""``check --watch``: a check for every change, and an end by Ctrl-C."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from test_cli_ends import obey_interrupts

Command = Callable[..., tuple[int, str, str]]

KERNEL = "__global__ void k(float* o) {\n  __shared__ float s[4];\n  o[0] = 1;\n}\n"
FOUND = ":2:20: warning SMEM101 `s` is declared and never accessed"


class Watching:
    """A process that watches, and the lines that it prints on both streams."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        command = [sys.executable, "-m", "smem_lsp", "check", "--watch", "--format", "concise", *arguments]
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=obey_interrupts,
        )
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))

    def check(self) -> list[str]:
        """The lines of the next check, without the one that says that it waits."""
        found: list[str] = []
        while not (line := self._lines.get(timeout=60)).startswith("smem-lsp: watching "):
            found.append(line)
        return found

    def end(self) -> tuple[int, str]:
        """Its exit status and the last line that it prints."""
        self.process.send_signal(signal.SIGINT)
        status = self.process.wait(60)
        self._reader.join(60)
        return status, [self._lines.get() for _ in range(self._lines.qsize())][-1]


@pytest.fixture
def watched(tmp_path: Path) -> Path:
    folder = tmp_path / "watched"
    folder.mkdir()
    return folder


@pytest.fixture
def watching(watched: Path) -> Iterator[Callable[..., Watching]]:
    started: list[Watching] = []

    def start(*arguments: str) -> Watching:
        started.append(Watching(watched, *arguments))
        return started[-1]

    yield start
    for each in started:
        each.process.kill()
        each.process.wait()


def write(path: Path, text: str) -> None:
    """At once: a file that is first emptied and then filled may be checked in between, too."""
    new = path.parent.parent / "new"
    new.write_text(text)
    new.replace(path)


@pytest.mark.slow(seconds=8)
def test_every_change_is_checked(watched: Path, watching: Callable[..., Watching]) -> None:
    write(watched / "a.cu", "int x;\n")
    process = watching()
    assert process.check() == []
    write(watched / "a.cu", KERNEL)
    assert process.check() == [f"a.cu{FOUND}"]
    write(watched / "b.cu", KERNEL)  # a new file
    assert process.check() == [f"a.cu{FOUND}", f"b.cu{FOUND}"]
    (watched / "a.cu").unlink()
    assert process.check() == [f"b.cu{FOUND}"]
    write(watched / "smem.toml", 'ignore = ["SMEM101"]\n')  # settings count, too
    assert process.check() == []
    assert process.end() == (130, "smem-lsp: interrupted")


@pytest.mark.slow(seconds=5)
def test_what_is_broken_for_a_while_ends_nothing(watched: Path, watching: Callable[..., Watching]) -> None:
    write(watched / "a.cu", KERNEL)
    write(watched / "c.toml", "")
    process = watching("a.cu", "--config", "c.toml")
    assert process.check() == [f"a.cu{FOUND}"]
    write(watched / "c.toml", "x = 1\n")
    (problem,) = process.check()
    assert problem.startswith("smem-lsp: c.toml:1: unknown key")
    write(watched / "c.toml", "threads = 32\n")
    assert process.check() == [f"a.cu{FOUND}"]
    os.replace(watched / "a.cu", watched / "b.cu")  # noqa: PTH105
    assert process.check() == ["smem-lsp: a.cu: no such file or folder"]


def test_a_wrong_flag_ends_it_at_once(smem: Command) -> None:
    assert smem("check", "--watch", "--select", "SMEM9")[0] == 2
    problem = "smem-lsp: --watch takes files and folders, not stdin, and no --write-baseline\n"
    assert smem("check", "--watch", "-") == (2, "", problem)
    assert smem("check", "--watch", "--write-baseline", "b.json") == (2, "", problem)
