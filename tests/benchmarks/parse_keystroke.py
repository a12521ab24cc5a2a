"""How long a key takes to reach the statement trees, the IR of all kernels, and the findings, inside the engine.

Run it by hand: ``python tests/benchmarks/parse_keystroke.py``. A statement is typed into the middle of a file, a
character at a time; printed is processor time per key, against reading the same text with nothing remembered. Garbage
is collected between keys, as the server does it. keystroke.py beside it measures the whole server.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.keystroke import kernels

from smem_lsp.engine import check
from smem_lsp.ir.nodes import Kernel
from smem_lsp.lowering.kernel import build_kernel
from smem_lsp.source import SourceText
from smem_lsp.source.queries import Store
from smem_lsp.syntax.parse import parse
from smem_lsp.unit.unit_facts import kernels_of, survey_file


def to_trees(text: str) -> None:
    for function in parse(SourceText(text)).functions:
        assert function.body.statements is not None


def to_ir(text: str, known: dict[tuple[object, ...], Kernel]) -> None:
    """The IR of every kernel, of untouched ones as it was built before."""
    unit = parse(SourceText(text))
    around = survey_file(unit)
    for function, instances in kernels_of(around):
        for binding, key in instances:
            if key not in known:
                known[key] = build_kernel(unit, around, function, binding)


def typed(text: str, keys: int) -> Iterator[str]:
    """The text after each key."""
    rows = text.split("\n")
    middle = next(n for n in range(len(rows) // 2, len(rows)) if rows[n].startswith("  __syncthreads"))
    before, after = "\n".join(rows[:middle]) + "\n", "\n" + "\n".join(rows[middle:])
    number = 0
    while True:
        word = f"  const float extra{number} = {number}.0f * t;"
        number += 1
        for length in range(1, len(word) + 1):
            if keys == 0:
                return
            keys -= 1
            yield before + word[:length] + after


def milliseconds(work: Callable[[str], object], text: str) -> float:
    started = time.process_time()
    work(text)
    return (time.process_time() - started) * 1e3


def show(what: str, work: Callable[[str], object], text: str, keys: int) -> None:
    cold = milliseconds(work, text)
    gc.collect()
    gc.freeze()
    times: list[float] = []
    for after in typed(text, keys):
        times.append(milliseconds(work, after))
        gc.collect(1)
    ordered = sorted(times)
    p99 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    middle = statistics.median(ordered)
    print(
        f"{what:<32} first {cold:8.1f} ms, key p50 {middle:6.2f}  p99 {p99:6.2f} ms  "
        f"({cold / middle:4.0f} times as fast, load {os.getloadavg()[0]:.1f})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", default="200,1000,5000")
    parser.add_argument("--keys", type=int, default=200)
    flags = parser.parse_args()
    check(kernels(60, seed=9))  # tables and first uses
    gc.disable()
    for lines in map(int, flags.lines.split(",")):
        text = kernels(lines)
        known: dict[tuple[object, ...], Kernel] = {}
        show(f"{lines:,} lines, IR", lambda t, known=known: to_ir(t, known), text, flags.keys)  # type: ignore[misc]
        cache = Store()
        show(f"{lines:,} lines, statement trees", to_trees, text, flags.keys)
        show(f"{lines:,} lines, findings", lambda t, cache=cache: check(t, cache=cache), text, flags.keys)  # type: ignore[misc]


if __name__ == "__main__":
    main()
