"""Random kernels against a run of every thread: how much is claimed of races and redundant barriers, and what is wrong.

``python tests/benchmarks/races.py [--kernels 50000] [--seed N] [--jobs N]``
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS), str(TESTS.parent)]

from analysis.hazards.random_races import Count, small_warps  # noqa: E402

BATCH = 500


def _batch(first: int) -> Count:
    count = Count()
    with small_warps():
        for seed in range(first, first + BATCH):
            count.judge(seed)
    return count


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    with ProcessPoolExecutor(options.jobs) as pool:
        counts = list(pool.map(_batch, range(options.seed, options.seed + options.kernels, BATCH)))
    wrong = [each for count in counts for each in count.wrong]
    print(
        f"{sum(c.kernels for c in counts)} kernels: {sum(c.races for c in counts)} races and "
        f"{sum(c.redundant for c in counts)} redundant barriers claimed, {len(wrong)} wrong"
    )
    for seed, what in wrong[:20]:
        print(f"  seed {seed}: {what}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
