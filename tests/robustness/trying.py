"""Runs the command line on a hostile text in a process of its own and measures what it takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

MOST_SECONDS = 10.0  # of processor time, the start of the interpreter counted
MOST_MEGABYTES = 1_024
_PATIENCE = 120.0  # seconds of the clock before the process is killed


@dataclass(frozen=True, slots=True)
class Outcome:
    """``stopped``: what the file's JSON says; None when there is no JSON."""

    seconds: float  # of processor time
    megabytes: int  # at its peak
    code: int
    findings: int
    stopped: tuple[str, ...] | None
    errors: str

    @property
    def problems(self) -> list[str]:
        """What is wrong with it, in words."""
        found: list[str] = []
        if self.stopped is None:
            found.append(f"no answer, exit code {self.code}")
        if self.code not in (0, 1):
            found.append(f"exit code {self.code}")
        if self.errors:
            found.append(self.errors[:400])
        if self.seconds > MOST_SECONDS:
            found.append(f"{self.seconds:.1f} s of processor time")
        if self.megabytes > MOST_MEGABYTES:
            found.append(f"{self.megabytes:,} MB")
        return found


def try_text(text: str, folder: Path, *arguments: str) -> Outcome:
    """Check ``text`` as a file in ``folder``, an empty one."""
    path = folder / "k.cu"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    out, errors = folder / "out.json", folder / "errors.txt"
    command = [sys.executable, "-I", "-m", "smem_lsp", "check", "k.cu", "--isolated", "--no-cache"]
    with out.open("wb") as stdout, errors.open("wb") as stderr:
        process = subprocess.Popen(
            [*command, "--output-format", "json", *arguments], cwd=folder, stdout=stdout, stderr=stderr
        )
        end = time.monotonic() + _PATIENCE
        while True:
            done, status, used = os.wait4(process.pid, os.WNOHANG)
            if done:
                break
            if time.monotonic() > end:
                process.kill()
            time.sleep(0.02)
    process.returncode = os.waitstatus_to_exitcode(status)
    findings, stopped = 0, None
    if process.returncode in (0, 1, 2):
        try:
            answer = json.loads(out.read_bytes())
        except ValueError:
            answer = None
        if answer is not None:
            findings, stopped = len(answer["findings"]), tuple(answer["files"][0]["stopped"])
    return Outcome(
        used.ru_utime + used.ru_stime,
        used.ru_maxrss // 1024,
        process.returncode,
        findings,
        stopped,
        errors.read_text(encoding="utf-8", errors="replace").strip(),
    )
