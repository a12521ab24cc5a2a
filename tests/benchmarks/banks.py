"""What the search for bank conflicts costs on real kernels, and what it finds.

Run it by hand: ``python tests/benchmarks/banks.py FOLDER ...``. Every CUDA file below each folder is checked; printed
are the findings and the processor time of the search for each kernel: median, 95th percentile, longest.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from smem_lsp.analysis.banks.conflicts import BankConflict
from smem_lsp.config import Config
from smem_lsp.engine import check
from smem_lsp.environment import DiskReader
from smem_lsp.facts import kernel_analysis

SUFFIXES = (".cu", ".cuh", ".h", ".hpp", ".inl")


def files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.suffix in SUFFIXES and "__global__" in path.read_text(encoding="utf-8", errors="replace"):
            yield path


def scan(folder: Path) -> None:
    """Checks all files of a folder and prints."""
    times: list[tuple[float, str]] = []
    search = kernel_analysis.bank_conflicts

    def timed(*args: object) -> tuple[BankConflict, ...]:
        start = time.process_time()
        found = search(*args)  # type: ignore[arg-type]
        times.append((time.process_time() - start, args[0].name))  # type: ignore[attr-defined]
        return found

    kernel_analysis.bank_conflicts = timed  # type: ignore[assignment]
    started = time.process_time()
    try:
        for path in files(folder):
            text = path.read_text(encoding="utf-8", errors="replace")
            report = check(text, path=str(path), config=Config(select=("SMEM401",)), reader=DiskReader())
            for finding in report.findings:
                line = report.source.line_number(finding.span.start)
                print(f"{path}:{line}: {finding.severity.label} {finding.message}")
    finally:
        kernel_analysis.bank_conflicts = search
    if not times:
        print(f"{folder.name}: no kernels")
        return
    times.sort()
    total = sum(seconds for seconds, _ in times)
    middle, most = times[len(times) // 2][0], times[int(len(times) * 0.95)][0]
    print(
        f"{folder.name}: {len(times)} kernels, {middle * 1e3:.2f} ms median, {most * 1e3:.2f} ms 95th percentile, "
        f"{times[-1][0] * 1e3:.1f} ms longest ({times[-1][1]}), {total:.2f} s of {time.process_time() - started:.1f} s",
        flush=True,
    )


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        scan(Path(argument))
