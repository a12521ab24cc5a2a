"""Verdicts on random kernels against brute force over all conflicts of their launches (``analysis.decision``).

``python tests/benchmarks/decided.py [--kernels 100000] [--seed N] [--jobs N]`` prints how many kernels are decided, why
the others are not, and every wrong answer with the command that shows its kernel. Exits with 1 on one. ``--show SEED``
prints one kernel and all that is said of it; ``--undecided TEXT`` the seeds of kernels that are not decided for a
reason with TEXT in it.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS), str(TESTS.parent)]

from analysis.decision.judged import Tally, judge, one, said, told, watched  # noqa: E402
from analysis.decision.random_programs import program  # noqa: E402

from smem_lsp.engine import check  # noqa: E402

BATCH = 100


def show(seed: int) -> int:
    """One kernel, the verdicts on it, its conflicts, and what is wrong."""
    kernel = program(seed)
    print("\n".join(f"{number:3} {line}" for number, line in enumerate(kernel.text.splitlines(), 1)))
    report = check(kernel.text)
    for facts in report.facts:
        for verdict in facts.analysis.verdicts:
            blocks = (
                ", ".join(str(shape.dims) for shape in verdict.blocks) or f"every block in {verdict.axes}"
            )
            print(f"{verdict.kind.value} for {blocks}; pairs {verdict.pairs}, apart {verdict.apart}")
            for reason in verdict.reasons:
                print(f"  line {reason.line}: {reason.reason}")
            for each in verdict.decisions:
                print(f"  {each.first.line} {each.second.line} {each.answer.value} {each.witness}")
        for race in told(facts):
            print(f"told: lines {race.first.line} and {race.second.line}, block {race.dims} {race.condition}")
    for launch, found in watched(kernel, kernel.launches(random.Random(seed), 14)).shown:
        for conflict in found:
            print(f"{said(conflict)}: {launch.words()}")
    tally = Tally()
    one(seed, kernel, tally)
    for _, wrong in tally.wrong:
        print("WRONG", wrong)
    return 1 if tally.wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kernels", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", type=int, metavar="SEED")
    parser.add_argument("--undecided", metavar="TEXT")
    options = parser.parse_args()
    if options.show is not None:
        return show(options.show)
    seeds = range(options.seed, options.seed + options.kernels)
    if options.undecided is not None:
        for seed in seeds:
            tally = judge([seed])
            if any(options.undecided in reason for reason in tally.reasons):
                print(seed, *tally.reasons, sep="; ")
        return 0
    total = Tally()
    started = time.perf_counter()
    with ProcessPoolExecutor(options.jobs) as pool:
        for tally in pool.map(judge, [seeds[at : at + BATCH] for at in range(0, len(seeds), BATCH)]):
            total.add(tally)
            for seed, wrong in tally.wrong:
                print(f"{seed}: {wrong}\n  python tests/benchmarks/decided.py --show {seed}", flush=True)
            if total.kernels % 1000 == 0:
                print(f"{total.kernels} kernels, {len(total.wrong)} wrong", file=sys.stderr, flush=True)
    print(total.words())
    print(f"{time.perf_counter() - started:.0f} s with {options.jobs} jobs")
    return 1 if total.wrong or not total.free + total.racy else 0  # none is decided where the engine fails


if __name__ == "__main__":
    sys.exit(main())
