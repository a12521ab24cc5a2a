"""What ``smem-lsp check --select SMEM101`` takes of the time of all rules: what no rule asks for is not worked out.

Processor time of whole processes, each with one job and no cache, on the same files: every so-many-th CUDA file with
shared memory below the folders. The ratio is that of the two least times of one run.
"""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.runner.declared import Figure, Told, benchmark
from benchmarks.runner.programs import CHECK, cuda_files


@benchmark(unit="s", better="lower")
def measure(
    folders: tuple[Path, ...], *, files: int = 40, rounds: int = 3, select: str = "SMEM101"
) -> Iterator[Told]:
    found = cuda_files(folders, "__shared__")
    chosen = found[:: max(1, len(found) // files)][:files]
    selected, every = (
        min(seconds(chosen, *flags) for _ in range(rounds)) for flags in (("--select", select), ())
    )
    yield Figure("files", len(chosen), "", "neither")
    yield Figure(select, selected)
    yield Figure("all rules", every)
    yield Figure(f"{select} against all rules", selected / every, "")


def seconds(chosen: Sequence[Path], *flags: str) -> float:
    """Processor time of one check."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*CHECK, *flags, *map(str, chosen)], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
