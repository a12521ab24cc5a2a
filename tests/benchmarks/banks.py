"""What the search for bank conflicts costs on real kernels, and what it finds.

Every CUDA file below each folder is checked. Times are processor time of the search for each kernel.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

from benchmarks.runner.declared import Figure, Told, benchmark
from benchmarks.runner.figures import processor_ms, spread
from benchmarks.runner.programs import cuda_files, read

from smem_lsp.analysis.banks.conflicts import BankConflict, bank_conflicts
from smem_lsp.config import Config
from smem_lsp.engine import check
from smem_lsp.environment import DiskReader
from smem_lsp.facts import kernel_analysis


@benchmark(unit="ms", better="lower")
def measure(folders: tuple[Path, ...]) -> Iterator[Told]:
    for folder in folders:
        yield from scan(folder)


def scan(folder: Path) -> Iterator[Told]:
    """All files of a folder."""
    times: list[tuple[float, str]] = []

    def timed(*args: object) -> tuple[BankConflict, ...]:
        found: list[tuple[BankConflict, ...]] = []
        spent = processor_ms(lambda: found.append(bank_conflicts(*args)))  # type: ignore[arg-type]
        times.append((spent, args[0].name))  # type: ignore[attr-defined]
        return found[0]

    started, conflicts = time.process_time(), 0
    with patch.object(kernel_analysis, "bank_conflicts", timed):
        for path in cuda_files([folder], "__global__", (".cu", ".cuh", ".h", ".hpp", ".inl")):
            report = check(
                read(path), path=str(path), config=Config(select=("SMEM401",)), reader=DiskReader()
            )
            conflicts += len(report.findings)
            for finding in report.findings:
                line = report.source.line_number(finding.span.start)
                yield f"{path}:{line}: {finding.severity.label} {finding.message}"
    yield Figure(f"{folder.name}: kernels", len(times), "", "neither")
    yield Figure(f"{folder.name}: findings", conflicts, "", "neither")
    yield from spread(f"{folder.name}:", [spent for spent, _ in times], (0.5, 0.95, 1))
    yield f"longest: {max(times, default=(0, 'none'))[1]}"
    whole = 1e3 * (time.process_time() - started)
    yield Figure(f"{folder.name}: of the whole check", sum(spent for spent, _ in times), whole=whole)
