#!/usr/bin/env python3
"""Merged memory against the original on the CPU: random kernels, every rewrite that can be written, equal bytes.

    python tests/benchmarks/executor.py [--written] [--refilled] [--carved] [--rings]
                                        [--kernels 5000] [--seed N] [--jobs N] [--schedules N]

``--written``: kernels in the forms that authors write, the default; ``--refilled``: with tiles that each turn of a loop
fills again; ``--carved``: that carve dynamic shared memory by numbers of the launch; ``--rings``: with rings of stages.
Of several forms each gets so many kernels, a batch of each in turn.

An execution is one launch of a rewritten kernel on the CPU, of two blocks, with one value of its argument ``n``, one
input and one schedule of its threads. The original is launched with the same numbers and inputs under two schedules;
launches of originals are no executions. An execution is right when no two accesses of shared memory race, no byte is
read that was not written, every barrier is met by all threads, no access leaves its memory, every byte of global
memory is that of the original, and every thread has read the values from shared memory that it has read there. Shared
memory starts out with the same byte everywhere in each block, 0xFF or 0x7F.

Prints what was run after each batch, and every mismatch with the command that shows it again. Exits with 1 on one. A
run that is interrupted (SIGINT or SIGTERM) prints what it saw up to then and how it goes on, and exits with 2.

``--programs SEEDS``: instead, the reference programs, K1 to K30 and their rewrites, each under so many schedules;
``--only k``: of them those whose name begins so, K1 to K30 here.
``--show SEED`` prints one kernel, its rewrites, and what is wrong. ``--build N`` builds N kernels into one executable
and prints how long that took.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS), str(TESTS.parent)]

from executor import build, missing  # noqa: E402
from executor.carved_kernels import CarvedKernel  # noqa: E402
from executor.merging import Form, Result, check_kernels, processor_seconds  # noqa: E402
from executor.random_kernels import Generator  # noqa: E402
from executor.references import check_references  # noqa: E402
from executor.refilled_kernels import RefilledKernel  # noqa: E402
from executor.rewriting import rewrites  # noqa: E402
from executor.ring_kernels import RingKernel  # noqa: E402
from executor.written_kernels import WrittenKernel  # noqa: E402

BATCH = 40  # kernels in one executable
FORMS: dict[str, Form] = {
    "written": WrittenKernel,
    "refilled": RefilledKernel,
    "carved": CarvedKernel,
    "rings": RingKernel,
}
BEGINNINGS = ("0", "1", "2", "3", "4", "5", "k")  # of the names of the reference programs


def show(kind: Form, seed: int, schedules: int) -> int:
    text = kind(seed).text()
    print(text)
    for rewrite in rewrites(text):
        print(f"// ---- {rewrite.title}\n{rewrite.text}")
    result = check_kernels([seed], schedules, kind, more=True)
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
    started, before = time.perf_counter(), processor_seconds()
    build(sources).close()
    wall, processor = time.perf_counter() - started, processor_seconds() - before
    lines = sum(source.text.count("\n") for source in sources)
    print(f"{count} kernels, {lines:,} lines: {wall:.2f} s, {processor:.2f} s of processor time")
    return 0


def random_kernels(forms: list[str], kernels: int, first: int, schedules: int, jobs: int) -> int:
    """Checks so many kernels of each form, from the seed ``first`` on. Returns the exit status."""
    print(
        f"{kernels} random kernels of {', '.join(forms)} from seed {first}, {schedules} schedules", flush=True
    )
    totals = {form: Result() for form in forms}
    started, cut_off = time.perf_counter(), False
    with ProcessPoolExecutor(
        jobs, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)
    ) as pool:
        batches = []
        for at in range(first, first + kernels, BATCH):
            seeds = list(range(at, min(at + BATCH, first + kernels)))
            batches += [
                (form, pool.submit(check_kernels, seeds, schedules, FORMS[form], more=True)) for form in forms
            ]
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            for form, batch in batches:
                totals[form].add(batch.result())
                print(f"{time.perf_counter() - started:.0f} s: {form}: {_summary(totals[form])}", flush=True)
        except (KeyboardInterrupt, BrokenProcessPool):  # the second: something ended a process of it
            pool.shutdown(wait=False, cancel_futures=True)
            cut_off = True
            done = min(total.kernels for total in totals.values())
            print(
                f"interrupted; goes on with {_again(forms)} --seed {first + done} --kernels {kernels - done}"
            )
    everything = Result()
    for form, total in totals.items():
        everything.add(total)
        for seed, wrong in total.unfit:
            print(f"{form} {seed}: the original is not clean: {wrong}")
        for seed, title, wrong in total.mismatches:
            print(f"{form} {seed}: {title}\n  {wrong}\n  {_again([form])} --show {seed}")
    for form, total in [*totals.items(), ("all", everything)]:
        print(f"{form}: {_summary(total)}")
    print(f"{time.perf_counter() - started:.0f} s with {jobs} jobs")
    return 1 if everything.mismatches or everything.unfit else 2 if cut_off else 0


def _summary(total: Result) -> str:
    return (
        f"{total.kernels:,} kernels, {total.rewritten:,} of them with {total.rewrites:,} rewrites, {total.again:,} of "
        f"these rewritten again; {total.executions:,} executions, {total.accesses:,} accesses, {total.races} races; "
        f"{len(total.mismatches)} mismatches, {len(total.unfit)} originals not clean; processor time: analysis "
        f"{total.analysis:.0f} s, build {total.building:.0f} s, runs {total.running:.0f} s"
    )


def _again(forms: list[str]) -> str:
    return " ".join(["python tests/benchmarks/executor.py", *(f"--{form}" for form in forms)])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kernels", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--schedules", type=int, default=3, help="of each program")
    parser.add_argument("--programs", type=int, metavar="SEEDS")
    parser.add_argument("--only", nargs="+", default=list(BEGINNINGS), metavar="BEGINNING")
    for form in FORMS:
        parser.add_argument(f"--{form}", dest="forms", action="append_const", const=form)
    parser.add_argument("--show", type=int, metavar="SEED")
    parser.add_argument("--build", type=int, metavar="N")
    options = parser.parse_args()
    forms = options.forms or ["written"]
    if missing():
        print(missing(), file=sys.stderr)
        return 2
    if options.programs is not None:
        return references(options.programs, options.only)
    if options.build is not None:
        return time_build(options.build, options.seed)
    if options.show is not None:
        return show(FORMS[forms[0]], options.show, options.schedules)
    return random_kernels(forms, options.kernels, options.seed, options.schedules, options.jobs)


if __name__ == "__main__":
    sys.exit(main())
