"""What one edit of a real file costs: processor time of the engine, for texts that were never read before.

Each file is opened once; then single characters are typed into a kernel that has shared memory (a statement, a
comment), blank lines are inserted, and a function without shared memory is edited, at the end of the file. Garbage is
collected between keys, as the server does it.
"""

from __future__ import annotations

import gc
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from benchmarks.runner.declared import Figure, Told, benchmark
from benchmarks.runner.figures import profiled, quantile, spread
from benchmarks.runner.programs import read

from smem_lsp.engine import FileReport, check
from smem_lsp.environment.disk_reader import DiskReader
from smem_lsp.source.queries import Store

_WARM = 3  # keys that do not count
Kind = Literal["statement", "condition", "comment", "blank line", "another function"]
KINDS: tuple[Kind, ...] = ("statement", "condition", "comment", "blank line", "another function")


@benchmark(unit="ms", better="lower")
def measure(
    files: tuple[Path, ...],
    *,
    keys: int = 60,
    kinds: tuple[Kind, ...] = KINDS,
    profile: Annotated[bool, "print where the time of each kind goes"] = False,
) -> Iterator[Told]:
    check("__global__ void k(float* p) { __shared__ float s[32]; s[threadIdx.x] = 1; p[0] = s[0]; }")
    gc.disable()
    for path in files:
        text = read(path)
        if place(text) is None:
            yield f"{path.name}: no barrier on a line of its own"
        else:
            yield from of_file(path, text, kinds, keys, profile)


def of_file(path: Path, text: str, kinds: tuple[Kind, ...], keys: int, profile: bool) -> Iterator[Told]:
    reader, cache = DiskReader(fresh_for=5.0), Store()
    kept: list[FileReport] = []  # the last two, as the server keeps them

    def once(now: str) -> float:
        started = time.process_time()
        kept.append(check(now, path=str(path), reader=reader, cache=cache))
        spent = (time.process_time() - started) * 1e3
        del kept[:-2]
        return spent

    cold = once(text)
    gc.collect()
    gc.freeze()
    yield Figure(f"{path.name}, first", cold)
    for kind in kinds:
        times: list[float] = []
        with profiled(profile):
            for _, now in zip(range(keys), texts(text, kind)):
                times.append(once(now))
                gc.collect(1)
        yield from spread(f"{path.name}, {kind}", times[_WARM:])
        yield Figure(f"{path.name}, {kind} p50 against first", quantile(times[_WARM:], 0.5) / cold, "")


def place(text: str) -> int | None:
    """The start of a line with a barrier, in the middle of those that the file has."""
    found = [match.start() for match in re.finditer(r"^[ \t]*__syncthreads\(\);", text, re.MULTILINE)]
    return found[len(found) // 2] if found else None


def texts(text: str, kind: str) -> Iterator[str]:
    """``text`` after each key; none comes twice."""
    at = place(text)
    assert at is not None
    number = 0
    while True:
        number += 1
        if kind == "another function":
            yield f"{text}\nstatic int smem_bench_helper(int n) {{ return n * {number} + 1; }}\n"
        elif kind == "blank line":
            yield text[:at] + "\n" * number + text[at:]
        elif kind == "comment":
            yield f"{text[:at]}  // remark {number}\n{text[at:]}"
        elif kind == "condition":
            word = f"  if (threadIdx.x > {number}) {{ volatile int smem_bench_value = {number}; }}"
            yield f"{text[:at]}{word}\n{text[at:]}"
        else:
            word = f"  const float extra{number} = {number}.0f * threadIdx.x;"
            for length in range(3, len(word) + 1):
                yield f"{text[:at]}{word[:length]}\n{text[at:]}"
