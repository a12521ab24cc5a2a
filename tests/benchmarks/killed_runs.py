"""Runs that are killed with SIGKILL at random moments, on a shared cache: the next whole run prints what it did before.

``python tests/benchmarks/killed_runs.py [--runs 100] [--jobs 2] [--seed N] [PATH…]``: the moments are spread over the
time that a whole run takes. Two of the killed runs are always at work at once. Exit code 1 at the first difference.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATHS = ("tests/kernels", "tests/examples", "docs/examples")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("paths", nargs="*", default=PATHS)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every", type=int, default=10, help="a whole run after so many killed ones")
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="smem-killed-") as scratch:
        problem = killed_runs(Path(scratch), flags.paths, flags.runs, flags.jobs, flags.seed, flags.every)
    print(problem or f"{flags.runs} runs killed, every whole run printed the same")
    return 1 if problem else 0


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


def start(project: Path, cache: Path, jobs: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "smem_lsp", "check", ".", "--format", "json", "--jobs", str(jobs)],
        cwd=project,
        env={**os.environ, "XDG_CACHE_HOME": str(cache)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def whole(project: Path, cache: Path, jobs: int) -> bytes:
    """What a run prints that nobody kills."""
    done = subprocess.run(
        [sys.executable, "-m", "smem_lsp", "check", ".", "--format", "json", "--jobs", str(jobs)],
        cwd=project,
        env={**os.environ, "XDG_CACHE_HOME": str(cache)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
