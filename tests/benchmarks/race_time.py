"""How long the search for races and barriers takes for each kernel of the corpora.

``SMEM_CORPORA_ALL=1 python tests/benchmarks/race_time.py [--only NAME ...] [--show 20] [--above 5]``: processor time
of the verdict, and of all that SMEM103, SMEM2xx and SMEM402 need beyond the values and the uniformity that other rules
ask for, too: verdicts on barriers, pairs of accesses decided, runs of the block, the places where a barrier would help,
redundant and mispaired barriers. One row for each kernel with shared memory, one for each instance of a template; of
those above so many ms, the least of three. No answer of the solver is kept from one to the next; in a file, the
instances of a template share them.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any
from unittest.mock import patch

if __name__ == "__main__":
    TESTS = Path(__file__).parents[1]
    sys.path[:0] = [str(TESTS), str(TESTS / "corpora"), str(TESTS.parent)]

from fetch import Corpus, Unavailable, corpora, fetch

from smem_lsp.analysis.decision import known_answers, solver
from smem_lsp.config import Config
from smem_lsp.engine import check
from smem_lsp.environment import DiskReader, SourceError, read_source
from smem_lsp.facts import data_flow, kernel_analysis
from smem_lsp.ir.nodes import Kernel
from smem_lsp.source.queries import PROCESS

PARTS = (
    (data_flow, "judge"),
    (kernel_analysis, "race_free_accesses"),
    (kernel_analysis, "find_hazards"),
    (kernel_analysis, "decided_races"),
    (kernel_analysis, "not_refuted"),
    (kernel_analysis, "verdicts_of"),
    (kernel_analysis, "warp_places"),
    (kernel_analysis, "find_missing_barriers"),
    (kernel_analysis, "redundant_barriers"),
    (kernel_analysis, "mispairings"),
    (kernel_analysis, "_is_right"),  # of a barrier that is moved
    (kernel_analysis, "unwritten_reads"),
)
TARGETS = ((0.95, 5.0), (0.999, 50.0))  # part of the kernels, ms


@dataclass
class Clock:
    """Seconds by kernel; what one part asks of another counts once."""

    parts: dict[str, float] = field(default_factory=dict)
    inside: int = 0

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def run(*arguments: Any, **named: Any) -> Any:
            self.inside += 1
            started = time.process_time()
            try:
                return function(*arguments, **named)
            finally:
                self.inside -= 1
                if not self.inside:
                    self.parts[name] = self.parts.get(name, 0.0) + time.process_time() - started

        return run


@dataclass(frozen=True)
class Row:
    kernel: str
    parts: dict[str, float]

    @property
    def ms(self) -> float:
        return 1000 * sum(self.parts.values())


@contextmanager
def timing(clock: Clock) -> Iterator[None]:
    """Inside, ``clock`` times the parts."""
    with ExitStack() as stack:
        for module, name in PARTS:
            stack.enter_context(patch.object(module, name, clock.timed(name, getattr(module, name))))
        yield


def judged(kernel: Kernel, config: Config, place: str, above: float) -> Row:
    """The row of one kernel, the least of three where it is above so many ms."""
    least: Row | None = None
    for _ in range(3):
        clock = Clock()
        known_answers.ANSWERS.forget(PROCESS)
        solver.ANSWERS.forget(PROCESS)  # as a new process has not asked yet
        with timing(clock):
            analysis = kernel_analysis.KernelAnalysis(kernel, config)
            for _each in (
                analysis.missing_barriers,
                analysis.redundant,
                analysis.hoists,
                analysis.verdicts,
                analysis.unwritten,
            ):
                pass
        row = Row(f"{place}:{kernel.line} {kernel.instance or kernel.name}", clock.parts)
        least = row if least is None or row.ms < least.ms else least
        if least.ms < above:
            break
    assert least is not None
    return least


def measure(corpus: Corpus, above: float) -> Iterator[Row]:
    """The rows of one corpus."""
    for path in sorted(path for path in fetch(corpus).rglob("*") if path.suffix in (".cu", ".cuh")):
        try:
            text = read_source(str(path)).text
        except SourceError:
            continue
        if "__shared__" not in text:
            continue
        config = Config(defines=corpus.defines)
        report = check(text, path=str(path), config=config, reader=DiskReader())
        for facts in report.facts:
            if facts.kernel.buffers:
                yield judged(facts.kernel, config, f"{corpus.requirement} {path.name}", above)


def quantile(values: list[float], part: float) -> float:
    """Of rising ``values``: as many as ``part`` of them are not above."""
    return values[max(0, math.ceil(part * len(values)) - 1)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], help="corpora whose name has one of these words")
    parser.add_argument("--show", type=int, default=20, help="of the slowest kernels")
    parser.add_argument(
        "--above", type=float, default=TARGETS[0][1], help="ms from which on a kernel is run again"
    )
    options = parser.parse_args()
    rows: list[Row] = []
    for corpus in corpora():
        if options.only and not any(word in corpus.requirement for word in options.only):
            continue
        try:
            rows += measure(corpus, options.above)
        except Unavailable as reason:
            print(f"{corpus.requirement}: {reason}", file=sys.stderr)
    rows.sort(key=lambda row: row.ms)
    for row in rows[len(rows) - options.show :]:
        parts = ", ".join(
            f"{name} {1000 * seconds:.1f}" for name, seconds in row.parts.items() if seconds > 1e-3
        )
        print(f"{row.ms:8.1f} ms  {row.kernel}: {parts}")
    times = [row.ms for row in rows]
    if not times:
        return 2
    met = True
    for part, limit in ((0.5, math.inf), *TARGETS, (1.0, math.inf)):
        found = quantile(times, part)
        met = met and found <= limit
        print(f"p{100 * part:g} {found:.1f} ms" + (f" (target {limit:g})" if math.isfinite(limit) else ""))
    print(f"{len(times)} kernels, {sum(times) / 1000:.1f} s")
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main())
