"""Runs the command line on a hostile text in a process of its own and measures what it takes."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

MOST_MEGABYTES = 4_500  # of the process: the 4,000 by which a check may grow, and what there is before
_ENDLESS = 1_000  # seconds of processor time before one is killed: the units of a check take 100
_PATIENCE = 3_600.0  # seconds of the clock before one is killed that waits for ever


# The peak of a process counts what its parent held when it was forked: a small process starts the one measured.
_LAUNCHER = """
import json, os, resource, sys, time
patience, endless, out, err, *command = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_CPU, (int(endless), int(endless)))
actions = [(os.POSIX_SPAWN_DUP2, int(out), 1), (os.POSIX_SPAWN_DUP2, int(err), 2)]
process = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
end = time.monotonic() + float(patience)
while True:
    done, status, used = os.wait4(process, os.WNOHANG)
    if done:
        break
    if time.monotonic() > end:
        os.kill(process, 9)
    time.sleep(0.02)
print(json.dumps([used.ru_utime + used.ru_stime, used.ru_maxrss, os.waitstatus_to_exitcode(status)]))
"""


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
        if self.megabytes > MOST_MEGABYTES:
            found.append(f"{self.megabytes:,} MB")
        return found


def try_text(text: str, folder: Path, *arguments: str) -> Outcome:
    """Check ``text`` as a file in ``folder``, an empty one."""
    path = folder / "k.cu"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    out, errors = folder / "out.json", folder / "errors.txt"
    command = [sys.executable, "-I", "-m", "smem_lsp", "check", "k.cu", "--isolated", "--no-cache"]
    command += ["--output-format", "json"]
    launcher = [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(_PATIENCE), str(_ENDLESS)]
    with out.open("wb") as stdout, errors.open("wb") as stderr:
        told = subprocess.run(
            [*launcher, str(stdout.fileno()), str(stderr.fileno()), *command, *arguments],
            cwd=folder,
            pass_fds=(stdout.fileno(), stderr.fileno()),
            capture_output=True,
            text=True,
            check=True,
        )
    seconds, kilobytes, code = json.loads(told.stdout)
    findings, stopped = 0, None
    if code in (0, 1, 2):
        try:
            answer = json.loads(out.read_bytes())
        except ValueError:
            answer = None
        if answer is not None:
            findings, stopped = len(answer["findings"]), tuple(answer["files"][0]["stopped"])
    return Outcome(
        seconds,
        kilobytes // 1024,
        code,
        findings,
        stopped,
        errors.read_text(encoding="utf-8", errors="replace").strip(),
    )
