"""How fast a cold `check` is: lines of the checked files for each second of processor time, on one core.

Run it by hand: ``python tests/benchmarks/check_cold.py [mmcv torch-cluster ...]``; without names it takes the default
corpora. Each is checked by a process of its own that reuses nothing, as a text for people and as JSON, which reports
every kernel. A file of one small kernel comes first: its time is that of starting.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

if __name__ == "__main__":
    TESTS = Path(__file__).parents[1]
    sys.path[:0] = [str(TESTS), str(TESTS / "corpora"), str(TESTS.parent)]

from fetch import corpora, corpus_named, fetch

ROOT = Path(__file__).parents[2]

SMALL = """\
__global__ void k(float* out, const float* in) {
  __shared__ float s[256];
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[255 - threadIdx.x];
}
"""


def checked(folder: Path, format: str) -> tuple[str, float, float]:
    """What a check prints, its seconds of processor time, and the most memory that it had, in MB."""
    command = [sys.executable, "-m", "smem_lsp", "check", str(folder), "--no-cache", "--jobs", "1"]
    command += ["--exit-zero", "--quiet", "--output-format", format]
    with tempfile.TemporaryFile("w+") as out:
        child = subprocess.Popen(command, stdout=out, cwd=ROOT, env=compiled())
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        return out.read(), used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def compiled() -> dict[str, str]:
    """An environment in which modules are compiled once, as those of an installed package are."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(Path(tempfile.gettempdir(), "smem-lsp-check-cold"))}


def show(what: str, folder: Path) -> None:
    runs = {format: checked(folder, format) for format in ("json", "concise")}
    lines = sum(each["lines"] or 0 for each in json.loads(runs["json"][0])["files"])
    for format, (_, seconds, megabytes) in runs.items():
        print(
            f"{what}, {format}: {lines:,} lines, {seconds:.2f} s of processor time, {lines / seconds:,.0f} lines/s, "
            f"{megabytes:,.0f} MB, load {os.getloadavg()[0]:.1f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", nargs="*")
    names = parser.parse_args().corpus
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "small.cu").write_text(SMALL, encoding="utf-8")
        print(
            f"one small file: {min(checked(Path(folder), 'full')[1] for _ in range(5)):.2f} s, the least of five"
        )
    for corpus in [corpus_named(name) for name in names] or corpora():
        show(corpus.requirement, fetch(corpus))


if __name__ == "__main__":
    main()
