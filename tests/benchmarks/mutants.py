"""Checks mutants of real kernels: none may raise or take long.

``python tests/benchmarks/mutants.py --mutants 100000 --jobs 2``: half an hour on two cores. Kernels of the corpora that
are in the cache (``tests/corpora/fetch.py`` fetches them) and of ``tests/kernels``.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS.parent), str(TESTS)]

from corpora.fetch import cache_folder  # noqa: E402
from robustness.mutants import Tally, judge, sources, told  # noqa: E402

_BATCH = 500


def batch(first: int, last: int) -> Tally:
    tally = Tally()
    judge(sources([TESTS / "kernels", cache_folder()]), range(first, last), tally)
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=1_000)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--jobs", type=int, default=2)
    flags = parser.parse_args()
    end = flags.first + flags.mutants
    batches = [(at, min(at + _BATCH, end)) for at in range(flags.first, end, _BATCH)]
    whole = Tally()
    with multiprocessing.get_context("spawn").Pool(flags.jobs, maxtasksperchild=10) as pool:
        for tally in pool.starmap(batch, batches, chunksize=1):
            whole.mutants += tally.mutants
            whole.findings += tally.findings
            whole.stopped += tally.stopped
            whole.slowest = max(whole.slowest, tally.slowest)
            whole.defects += tally.defects
            whole.slow += tally.slow
    for line in told(whole):
        print(line)
    return 1 if whole.defects or whole.slow else 0


if __name__ == "__main__":
    sys.exit(main())
