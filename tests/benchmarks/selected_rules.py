"""What ``smem-lsp check --select SMEM101`` takes of the time of all rules: what no rule asks for is not worked out.

Run it by hand: ``python tests/benchmarks/selected_rules.py FOLDER ... [--files 40] [--rounds 3] [--select SMEM101]``.
Processor time of whole processes, each with one job and no cache, on the same files: every so-many-th CUDA file with
shared memory below the folders. The ratio is that of the two least times of one run.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

SUFFIXES = (".cu", ".cuh")


def files(folders: Sequence[Path], count: int) -> list[Path]:
    found = sorted(
        path
        for folder in folders
        for path in folder.rglob("*")
        if path.suffix in SUFFIXES and "__shared__" in path.read_text(encoding="utf-8", errors="replace")
    )
    return found[:: max(1, len(found) // count)][:count]


def seconds(chosen: Sequence[Path], *flags: str) -> float:
    """Processor time of one check."""
    command = [
        sys.executable,
        "-m",
        "smem_lsp",
        "check",
        "--isolated",
        "--no-cache",
        "--jobs",
        "1",
        "--exit-zero",
    ]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*command, *flags, *map(str, chosen)], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--files", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--select", default="SMEM101")
    options = parser.parse_args()
    chosen = files(options.folders, options.files)
    least = [
        min(seconds(chosen, *flags) for _ in range(options.rounds))
        for flags in (("--select", options.select), ())
    ]
    print(
        f"{len(chosen)} files: {options.select} {least[0]:.2f} s, all rules {least[1]:.2f} s, {least[0] / least[1]:.2f}"
    )


if __name__ == "__main__":
    main()
