#!/usr/bin/env python3
"""Merged memory against the original on the CPU: random kernels, every merge that can be written, equal bytes, no race.

    python tests/benchmarks/executor.py [--kernels 5000] [--seed N] [--jobs N] [--schedules N]

Prints what was run and how long it took, and every mismatch with the command that shows it again. Exits with 1 on one.
``--refilled``: kernels with tiles that each turn of a loop fills again; ``--carved``: kernels that carve dynamic shared
memory by numbers of the launch.
``--programs SEEDS``: instead, the reference programs, K1 to K30 and their rewrites, each under so many schedules;
``--only k``: of them those whose name begins so, K1 to K30 here.
``--show SEED`` prints one kernel, its rewrites, and what is wrong. ``--build N`` builds N kernels into one executable
and prints how long that took.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS), str(TESTS.parent)]

from executor import build, missing  # noqa: E402
from executor.carved_kernels import CarvedKernel  # noqa: E402
from executor.merging import Result, check_kernels  # noqa: E402
from executor.random_kernels import Generator  # noqa: E402
from executor.references import check_references  # noqa: E402
from executor.refilled_kernels import RefilledKernel  # noqa: E402
from executor.rewriting import rewrites  # noqa: E402
from executor.written_kernels import WrittenKernel  # noqa: E402

BATCH = 160  # kernels in one executable
BEGINNINGS = ("0", "1", "2", "3", "4", "5", "k")  # of the names of the reference programs


def show(kind: type[WrittenKernel | RefilledKernel | CarvedKernel], seed: int, schedules: int) -> int:
    text = kind(seed).text()
    print(text)
    for rewrite in rewrites(text):
        print(f"// ---- {rewrite.title}\n{rewrite.text}")
    result = check_kernels([seed], schedules, kind)
    for _, title, wrong in result.mismatches:
        print(f"{title}\n{wrong}")
    for _, wrong in result.unfit:
        print(f"the original: {wrong}")
    return 1 if result.mismatches or result.unfit else 0


def references(seeds: int, beginnings: list[str]) -> int:
    started, wrong = time.perf_counter(), 0
    for only in beginnings:
        found = check_references(seeds, only)
        print(
            f"{only}…: {found.programs} programs, {found.rewrites} rewrites, {found.runs} runs, "
            f"{len(found.wrong)} wrong; lack barriers on purpose: {', '.join(found.racy) or 'none'}",
            flush=True,
        )
        print(*(f"  {each}" for each in found.wrong), sep="\n", end="\n" if found.wrong else "")
        wrong += len(found.wrong)
    print(f"{wrong} wrong, {time.perf_counter() - started:.0f} s")
    return min(wrong, 1)


def time_build(count: int, seed: int) -> int:
    sources = [Generator(number).source(f"{number}") for number in range(seed, seed + count)]
    build(sources[:1]).close()  # the runtime and the precompiled header are made once for a machine
    started, before = time.perf_counter(), _processor_seconds()
    build(sources).close()
    wall, processor = time.perf_counter() - started, _processor_seconds() - before
    lines = sum(source.text.count("\n") for source in sources)
    print(f"{count} kernels, {lines:,} lines: {wall:.2f} s, {processor:.2f} s of processor time")
    return 0


def _processor_seconds() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kernels", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--schedules", type=int, default=3, help="of each program")
    parser.add_argument("--programs", type=int, metavar="SEEDS")
    parser.add_argument("--only", nargs="+", default=list(BEGINNINGS), metavar="BEGINNING")
    parser.add_argument("--refilled", action="store_true", help="tiles that are filled again in a loop")
    parser.add_argument("--carved", action="store_true", help="ranges that numbers of the launch carve")
    parser.add_argument("--show", type=int, metavar="SEED")
    parser.add_argument("--build", type=int, metavar="N")
    options = parser.parse_args()
    kind = CarvedKernel if options.carved else RefilledKernel if options.refilled else WrittenKernel
    if missing():
        print(missing(), file=sys.stderr)
        return 2
    if options.programs is not None:
        return references(options.programs, options.only)
    if options.build is not None:
        return time_build(options.build, options.seed)
    if options.show is not None:
        return show(kind, options.show, options.schedules)
    print(
        f"{options.kernels} random kernels from seed {options.seed}, {options.schedules} schedules each",
        flush=True,
    )
    seeds = range(options.seed, options.seed + options.kernels)
    batches = [list(seeds[at : at + BATCH]) for at in range(0, len(seeds), BATCH)]
    total = Result()
    started = time.perf_counter()
    with ProcessPoolExecutor(options.jobs) as pool:
        for result in pool.map(check_kernels, batches, repeat(options.schedules), repeat(kind)):
            total.add(result)
            if sys.stderr.isatty() or total.kernels % (4 * BATCH) == 0:
                print(
                    f"{total.kernels} kernels, {len(total.mismatches)} mismatches",
                    file=sys.stderr,
                    flush=True,
                )
    for seed, wrong in total.unfit:
        print(f"{seed}: the original is not clean: {wrong}")
    again = (
        "python tests/benchmarks/executor.py"
        + " --refilled" * options.refilled
        + " --carved" * options.carved
    )
    for seed, title, wrong in total.mismatches:
        print(f"{seed}: {title}\n  {wrong}\n  {again} --show {seed}")
    seconds = time.perf_counter() - started
    print(
        f"{total.kernels} kernels, {total.rewritten} of them with {total.rewrites} rewrites; {total.runs} runs, "
        f"{total.accesses:,} accesses, {total.races} races; {len(total.mismatches)} mismatches, "
        f"{len(total.unfit)} originals not clean"
    )
    print(
        f"{seconds:.0f} s with {options.jobs} jobs; of one process: analysis {total.analysis:.0f} s, "
        f"build {total.building:.0f} s, runs {total.running:.0f} s"
    )
    return 1 if total.mismatches or total.unfit else 0


if __name__ == "__main__":
    sys.exit(main())
