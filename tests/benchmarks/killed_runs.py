"""Runs that are killed with SIGKILL at random moments, on a shared cache: the next whole run prints what it did before.

The moments are spread over the time that a whole run takes. Two of the killed runs are always at work at once. The
first difference is wrong, and the last thing that is done.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

from benchmarks.runner.declared import Figure, Told, Wrong, benchmark
from benchmarks.runner.options import ROOT

PATHS = ("tests/kernels", "tests/examples", "docs/examples")


@benchmark()
def measure(
    paths: tuple[str, ...] = PATHS,
    *,
    runs: int = 100,
    jobs: int = 2,
    seed: int = 1,
    every: Annotated[int, "a whole run after so many killed ones"] = 10,
) -> Iterator[Told]:
    with tempfile.TemporaryDirectory(prefix="smem-killed-") as scratch:
        problem = killed_runs(Path(scratch), paths, runs, jobs, seed, every)
    yield Figure("runs killed", runs)
    yield Figure("differences", int(problem is not None), better="lower")
    if problem is not None:
        yield Wrong(problem)


def killed_runs(
    scratch: Path, paths: Sequence[str], runs: int, jobs: int, seed: int, every: int
) -> str | None:
    """What was different, or left behind; None: nothing."""
    project = scratch / "project"
    for path in paths:
        source = ROOT / path
        if source.is_dir():
            shutil.copytree(source, project / path)
        else:
            (project / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, project / path)
    moments = random.Random(seed)
    started = time.monotonic()
    wanted = whole(project, scratch / "cache", jobs)
    length = time.monotonic() - started
    shutil.rmtree(scratch / "cache", ignore_errors=True)
    for number in range(0, runs, 2):
        pair = [start(project, scratch / "cache", jobs) for _ in range(min(2, runs - number))]
        ends = sorted(moments.uniform(0, length * len(pair)) for _ in pair)
        begun = time.monotonic()
        for process, end in zip(pair, ends, strict=True):
            time.sleep(max(0.0, begun + end - time.monotonic()))
            process.kill()  # its children end by themselves: their stdin does
            process.wait()
        if (number + 2) % every < 2 or number + 2 >= runs:
            found = whole(project, scratch / "cache", jobs)
            if found != wanted:
                return f"another output after {number + len(pair)} killed runs (seed {seed})"
    if changed := [path for path in project.rglob("*") if path.is_file() and not same(path, project)]:
        return f"left in the project: {changed[0]}"
    return None


def same(path: Path, project: Path) -> bool:
    origin = ROOT / path.relative_to(project)
    return origin.is_file() and origin.read_bytes() == path.read_bytes()


def start(project: Path, cache: Path, jobs: int, out: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    """A run that is at work."""
    command = [sys.executable, "-m", "smem_lsp", "check", ".", "--format", "json", "--jobs", str(jobs)]
    channels: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": out}
    return subprocess.Popen(
        command, cwd=project, env={**os.environ, "XDG_CACHE_HOME": str(cache)}, **channels
    )


def whole(project: Path, cache: Path, jobs: int) -> bytes:
    """What a run prints that nobody kills."""
    process = start(project, cache, jobs, subprocess.PIPE)
    printed, errors = process.communicate()
    assert process.returncode in (0, 1), errors
    return printed
