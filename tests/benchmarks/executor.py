#!/usr/bin/env python3
"""Merged memory against the original on the CPU: random kernels, every merge that smem-lsp can write, equal bytes, no race.

    python tests/benchmarks/executor.py --kernels 10000 [--seed N] [--jobs N] [--schedules N]

Prints what was run and how long it took, and every mismatch with the command that shows it again. Exits with 1 on one.
``--show SEED`` prints one kernel, its rewrites, and what is wrong.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS), str(TESTS.parent)]

from executor import Source, build, missing  # noqa: E402
from executor.random_kernels import Generator, host_program  # noqa: E402
from executor.rewriting import differences, outcomes, rewrites  # noqa: E402

BATCH = 50  # kernels in one executable


@dataclass
class Result:
    """``mismatches``: seed of the kernel, title of the rewrite, what is wrong. ``unfit``: originals that are not clean."""

    kernels: int = 0
    rewrites: int = 0
    rewritten: int = 0
    runs: int = 0
    accesses: int = 0
    races: int = 0
    analysis: float = 0
    building: float = 0
    running: float = 0
    unfit: list[tuple[int, str]] = field(default_factory=list)
    mismatches: list[tuple[int, str, str]] = field(default_factory=list)

    def add(self, other: Result) -> None:
        for name in self.__dataclass_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


def check_batch(seeds: list[int], schedules: int) -> Result:
    """Original and rewrites of the kernels of these seeds, each under ``schedules`` schedules."""
    result = Result(kernels=len(seeds))
    started = time.perf_counter()
    sources, pairs = [], []
    for seed in seeds:
        generator = Generator(seed)
        text = generator.text()
        host = host_program(generator.threads)
        sources.append(Source(f"{seed}", text + host))
        for number, rewrite in enumerate(rewrites(text)):
            name = f"{seed}/{number}"
            sources.append(Source(name, rewrite.text + host))
            pairs.append((seed, name, rewrite.title))
    result.analysis = time.perf_counter() - started
    result.rewrites = len(pairs)
    result.rewritten = len({seed for seed, _, _ in pairs})
    started = time.perf_counter()
    with build(sources) as programs:
        result.building = time.perf_counter() - started
        started = time.perf_counter()
        found = outcomes(programs, [source.name for source in sources], range(schedules))
        result.running = time.perf_counter() - started
    everything = [outcome for each in found.values() for outcome in each]
    result.runs = len(everything)
    result.accesses = sum(outcome.accesses for outcome in everything)
    result.races = sum(outcome.race_count for outcome in everything)
    unfit = {}
    for seed in seeds:
        wrong = differences(found[f"{seed}"], found[f"{seed}"])
        if wrong:
            unfit[seed] = wrong
    result.unfit = list(unfit.items())
    for seed, name, title in pairs:
        if seed not in unfit:
            wrong = differences(found[f"{seed}"], found[name])
            if wrong:
                result.mismatches.append((seed, title, wrong))
    return result


def show(seed: int, schedules: int) -> int:
    generator = Generator(seed)
    text = generator.text()
    print(text)
    for rewrite in rewrites(text):
        print(f"// ---- {rewrite.title}\n{rewrite.text}")
    result = check_batch([seed], schedules)
    for _, title, wrong in result.mismatches:
        print(f"{title}\n{wrong}")
    for _, wrong in result.unfit:
        print(f"the original: {wrong}")
    return 1 if result.mismatches or result.unfit else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kernels", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--schedules", type=int, default=3, help="of each program")
    parser.add_argument("--show", type=int, metavar="SEED")
    options = parser.parse_args()
    if missing():
        print(missing(), file=sys.stderr)
        return 2
    if options.show is not None:
        return show(options.show, options.schedules)
    print(f"{options.kernels} random kernels from seed {options.seed}, {options.schedules} schedules each", flush=True)
    seeds = range(options.seed, options.seed + options.kernels)
    batches = [list(seeds[at : at + BATCH]) for at in range(0, len(seeds), BATCH)]
    total = Result()
    started = time.perf_counter()
    with ProcessPoolExecutor(options.jobs) as pool:
        for result in pool.map(check_batch, batches, [options.schedules] * len(batches)):
            total.add(result)
            if sys.stderr.isatty():
                print(f"\r{total.kernels} kernels", end="", file=sys.stderr, flush=True)
    for seed, wrong in total.unfit:
        print(f"{seed}: the original is not clean: {wrong}")
    for seed, title, wrong in total.mismatches:
        print(f"{seed}: {title}\n  {wrong}\n  python tests/benchmarks/executor.py --show {seed}")
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
