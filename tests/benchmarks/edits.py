"""What one edit of a real file costs: processor time of the engine, for texts that were never read before.

Run it by hand: ``python tests/benchmarks/edits.py FILE...``. Each file is opened once; then single characters are typed
into a kernel that has shared memory (a statement, a comment), blank lines are inserted, and a function without shared
memory is edited, at the end of the file. Printed are milliseconds of processor time per key, median and 99th
percentile. Garbage is collected between keys, as the server does it.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import pstats
import re
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from smem_lsp.engine import Report, check
from smem_lsp.environment.disk_reader import DiskReader
from smem_lsp.source.queries import Store

_WARM = 3  # keys that do not count
KINDS = ("statement", "condition", "comment", "blank line", "another function")


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--keys", type=int, default=60)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--profile", action="store_true", help="print where the time of each kind goes")
    flags = parser.parse_args()
    check("__global__ void k(float* p) { __shared__ float s[32]; s[threadIdx.x] = 1; p[0] = s[0]; }")
    gc.disable()
    for path in flags.files:
        measure(path, flags.kinds.split(","), flags.keys, profiled=flags.profile)


def measure(path: Path, kinds: list[str], keys: int, *, profiled: bool) -> None:
    text = path.read_text(encoding="utf-8", errors="replace")
    if place(text) is None:
        print(f"{path.name}: no barrier on a line of its own")
        return
    reader, cache = DiskReader(fresh_for=5.0), Store()
    kept: list[Report] = []  # the last two, as the server keeps them

    def once(now: str) -> float:
        started = time.process_time()
        kept.append(check(now, path=str(path), reader=reader, cache=cache))
        spent = (time.process_time() - started) * 1e3
        del kept[:-2]
        return spent

    cold = once(text)
    gc.collect()
    gc.freeze()
    print(f"{path.name}, {text.count(chr(10)):,} lines, first {cold:,.0f} ms")
    for kind in kinds:
        profile = cProfile.Profile(time.process_time) if profiled else None
        times: list[float] = []
        for number, now in zip(range(keys), texts(text, kind)):
            if profile is not None and number >= _WARM:
                profile.enable()
            times.append(once(now))
            if profile is not None:
                profile.disable()
            gc.collect(1)
        ordered = sorted(times[_WARM:])
        p99 = ordered[int(len(ordered) * 0.99)]
        print(f"  {kind:<18} p50 {statistics.median(ordered):7.1f}  p99 {p99:7.1f}")
        if profile is not None:
            pstats.Stats(profile).sort_stats("cumulative").print_stats(70)


if __name__ == "__main__":
    main()
