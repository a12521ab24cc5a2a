"""Random kernels that may race, and what is said of them, against their runs in the executor.

``python tests/benchmarks/claims.py [--kernels 50000] [--seed N] [--jobs N]`` prints what was told and what of it the
runs show, and every error with the command that shows its kernel. Exits with 1 on one. ``--show SEED`` prints one
kernel and all that is said of it; ``--missed`` also lists kernels that race and of which no race is told.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS), str(TESTS.parent)]

from executor import missing  # noqa: E402
from executor.claims import Tally, judge, read  # noqa: E402

from smem_lsp.engine import check  # noqa: E402

BATCH = 200  # kernels in one executable


def show(seed: int) -> int:
    each = read(seed)
    print("\n".join(f"{number:3} {line}" for number, line in enumerate(each.kernel.text.splitlines(), 1)))
    report = check(each.kernel.text)
    for finding in report.findings:
        print(
            f"{report.source.line_number(finding.span.start)}: {finding.code} {finding.verdict}: {finding.message}"
        )
    for claim in each.claims:
        print(claim)
    tally = judge([seed])
    print(f"racy {tally.racy}, told {dict(tally.told)}, shown {dict(tally.shown)}")
    for _, wrong in tally.wrong:
        print(wrong)
    return 1 if tally.wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kernels", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", type=int, metavar="SEED")
    parser.add_argument("--missed", action="store_true")
    options = parser.parse_args()
    if missing():
        print(missing(), file=sys.stderr)
        return 2
    if options.show is not None:
        return show(options.show)
    seeds = range(options.seed, options.seed + options.kernels)
    total = Tally()
    started = time.perf_counter()
    with ProcessPoolExecutor(options.jobs) as pool:
        for tally in pool.map(judge, [seeds[at : at + BATCH] for at in range(0, len(seeds), BATCH)]):
            total.add(tally)
            for seed, wrong in tally.wrong:
                print(f"{seed}: {wrong}\n  python tests/benchmarks/claims.py --show {seed}", flush=True)
            if total.kernels % 1000 == 0:
                print(f"{total.kernels} kernels, {len(total.wrong)} wrong", file=sys.stderr, flush=True)
    print(total.words())
    if options.missed:
        print("not told:", *total.missed)
    print(f"{time.perf_counter() - started:.0f} s with {options.jobs} jobs")
    return 1 if total.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
