"""How long the rules of host code (SMEM601 to SMEM603) need for each host function.

Processor time of each function that is not device code, in the files below the folders, read as ``check --select
SMEM6`` reads them. "cold": with its statements read for the first time, "again": the same walk when they have been
read, as after an edit of another function; of functions that are walked, the least of three. Functions that make or
release nothing are asked for that alone. 2 ms for 95 of 100 are enough.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from benchmarks.runner.declared import Figure, Missing, Told, benchmark
from benchmarks.runner.figures import spread
from benchmarks.runner.options import Aside
from benchmarks.runner.programs import cuda_files

from smem_lsp.analysis.host.survey import FACTS, HostResources, is_on_device
from smem_lsp.config import Config
from smem_lsp.engine.contexts import read_alone
from smem_lsp.environment import DiskReader, SourceError, read_source
from smem_lsp.source import SourceText

SUFFIXES = (".cu", ".cuh", ".hip", ".h", ".hpp", ".hu", ".inl")
WORDS = ("cuda", "hip", "cuStream", "cuMem", "cuEvent", "cuGraph")


@benchmark(unit="ms", better="lower")
def measure(
    folders: tuple[Path, ...],
    *,
    every: Annotated[int, "one file of so many"] = 1,
    show: Annotated[int, Aside("of the slowest functions")] = 10,
) -> Iterator[Told]:
    files = cuda_files(folders, suffixes=SUFFIXES)
    rows = sorted((row for path in files[::every] for row in measured(path)), key=lambda row: row.again)
    if not rows:
        raise Missing("no host function calls CUDA there")
    for row in rows[len(rows) - show :]:
        yield f"{row.cold:8.2f} ms cold {row.again:8.2f} ms again  {row.function}"
    for title, chosen in (("all", rows), ("walked", [row for row in rows if row.walked])):
        yield Figure(f"{title}: functions", len(chosen), "", "neither")
        yield from spread(f"{title}, cold", [row.cold for row in chosen], (0.5, 0.95, 1))
        yield from spread(f"{title}, again", [row.again for row in chosen], (0.5, 0.95, 1))


@dataclass(frozen=True)
class Row:
    function: str
    walked: bool
    cold: float  # ms
    again: float


def measured(path: Path) -> Iterator[Row]:
    """The rows of one file."""
    try:
        text = read_source(str(path)).text
    except SourceError:
        return
    if not any(word in text for word in WORDS):
        return
    around = read_alone(SourceText(text, str(path)), DiskReader(), Config(), None)
    code = HostResources(around.unit, around.dialect)
    for function in around.unit.functions:
        if is_on_device(function):
            continue
        times: list[float] = []
        walked = False
        for _ in range(4):
            started = time.process_time()
            walked = code.makes(function)
            if walked:
                code.facts_of(function)
            times.append(1000 * (time.process_time() - started))
            FACTS.forget(function.body.store)
        name = f"{path.name}:{function.name}"
        yield Row(name, walked, times[0], min(times[1:]))
