"""How long the rules of host code (SMEM601 to SMEM603) need for each host function.

``python tests/benchmarks/host_time.py FOLDER ... [--every 1] [--show 10]``: processor time of each function that is not
device code, in the files below the folders, read as ``check --select SMEM6`` reads them. "cold": with its statements
read for the first time, "again": the same walk when they have been read, as after an edit of another function; of
functions that are walked, the least of three. Functions that make or release nothing are asked for that alone.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2])]

from smem_lsp.analysis.host.survey import FACTS, HostCode, is_on_device
from smem_lsp.config import Config
from smem_lsp.engine.contexts import read_alone
from smem_lsp.environment import DiskReader, SourceError, read_source
from smem_lsp.source import SourceText

SUFFIXES = (".cu", ".cuh", ".hip", ".h", ".hpp", ".hu", ".inl")
TARGET = 2.0  # ms, of the 95th percentile
WORDS = ("cuda", "hip", "cuStream", "cuMem", "cuEvent", "cuGraph")


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
    code = HostCode(around.unit, around.dialect)
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


def quantile(values: Sequence[float], part: float) -> float:
    """Of rising ``values``: as many as ``part`` of them are not above."""
    return values[max(0, math.ceil(part * len(values)) - 1)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--every", type=int, default=1, help="one file of so many")
    parser.add_argument("--show", type=int, default=10, help="of the slowest functions")
    options = parser.parse_args()
    files = sorted(
        path for folder in options.folders for path in folder.rglob("*") if path.suffix in SUFFIXES
    )
    rows = [row for path in files[:: options.every] for row in measured(path)]
    if not rows:
        return 2
    for row in sorted(rows, key=lambda row: row.again)[len(rows) - options.show :]:
        print(f"{row.cold:8.2f} ms cold {row.again:8.2f} ms again  {row.function}")
    met = True
    for title, chosen in (("all", rows), ("walked", [row for row in rows if row.walked])):
        for name, times in (
            ("cold", sorted(row.cold for row in chosen)),
            ("again", sorted(row.again for row in chosen)),
        ):
            if times:
                half, most = quantile(times, 0.5), quantile(times, 0.95)
                met = met and most <= TARGET
                print(
                    f"{title} {name}: {len(times)} functions, p50 {half:.2f} ms, p95 {most:.2f} ms"
                    f" (target {TARGET:g}), most {times[-1]:.2f} ms"
                )
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main())
