"""Answers on random pairs of accesses against bounded enumeration (``analysis.decision``).

``python tests/benchmarks/pairs.py [--pairs 10000] [--seed N]`` prints how many pairs have which answer, and every
contradiction: a pair that is proved apart and meets, or a race whose witness shows none. Blocks of at most 64 threads;
parameters, places in the grid and data from a small domain. Exits with 1 on a contradiction. ``--show SEED`` prints a
kernel and the answers.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS), str(TESTS.parent)]

from analysis.decision.pairs import Tally, decided, drawn, judge  # noqa: E402


def show(seed: int) -> int:
    """One kernel, and what is decided of its pairs."""
    kernel = drawn(seed)
    print("\n".join(f"{number:3} {line}" for number, line in enumerate(kernel.text.splitlines(), 1)))
    for each in decided(kernel):
        print(f"{each.first.line} {each.second.line} {each.answer.value} {each.reason} {each.witness}")
    wrong = judge([seed]).wrong
    print(*(f"WRONG {what}" for _, what in wrong), sep="\n")
    return 1 if wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, metavar="SEED")
    options = parser.parse_args()
    if options.show is not None:
        return show(options.show)
    total, started = Tally(), time.process_time()
    for seed in itertools.count(options.seed):
        if total.pairs >= options.pairs:
            break
        found = judge([seed])
        total.add(found)
        for _, wrong in found.wrong:
            print(f"{seed}: {wrong}\n  python tests/benchmarks/pairs.py --show {seed}", flush=True)
    print(total.words())
    print(f"{time.process_time() - started:.0f} s of processor time")
    return 1 if total.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
