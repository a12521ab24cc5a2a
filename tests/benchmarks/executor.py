"""Merged memory against the original on the CPU: random kernels, every rewrite that can be written, equal bytes.

Forms of kernels: ``written`` as authors write them; ``refilled`` with tiles that each turn of a loop fills again;
``carved``, which carve dynamic shared memory by numbers of the launch; ``rings`` of stages. Of several forms each gets
so many kernels, a batch of each in turn.

An execution is one launch of a rewritten kernel on the CPU, of two blocks, with one value of its argument ``n``, one
input and one schedule of its threads. The original is launched with the same numbers and inputs under two schedules;
launches of originals are no executions. An execution is right when no two accesses of shared memory race, no byte is
read that was not written, every barrier is met by all threads, no access leaves its memory, every byte of global
memory is that of the original, and every thread has read the values from shared memory that it has read there. Shared
memory starts out with the same byte everywhere in each block, 0xFF or 0x7F.

A run that is interrupted (SIGINT or SIGTERM) tells what it saw up to then and how it goes on;
none of it is recorded.
``--programs``: instead, the reference programs, K1 to K30 and their rewrites, each under so many schedules.
"""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Annotated, Literal

from benchmarks.runner.declared import Figure, Missing, Told, Wrong, benchmark
from benchmarks.runner.figures import clock_ms, counted
from benchmarks.runner.programs import progress
from executor import build, missing
from executor.carved_kernels import CarvedKernel
from executor.merging import Form, Result, check_kernels, processor_seconds
from executor.random_kernels import Generator
from executor.references import check_references
from executor.refilled_kernels import RefilledKernel
from executor.rewriting import rewrites
from executor.ring_kernels import RingKernel
from executor.written_kernels import WrittenKernel

BATCH = 40  # kernels in one executable
Name = Literal["written", "refilled", "carved", "rings"]
FORMS: dict[Name, Form] = {
    "written": WrittenKernel,
    "refilled": RefilledKernel,
    "carved": CarvedKernel,
    "rings": RingKernel,
}
BEGINNINGS = ("0", "1", "2", "3", "4", "5", "k")  # of the names of the reference programs


@benchmark()
def measure(
    forms: tuple[Name, ...] = ("written",),
    *,
    kernels: int = 5000,
    seed: Annotated[int | None, "the first; without one it is drawn, and told"] = None,
    jobs: int = 1,
    schedules: Annotated[int, "of each program"] = 3,
    programs: Annotated[int | None, "so many schedules of each reference program, instead"] = None,
    only: Annotated[tuple[str, ...], "of them those whose name begins so; K1 to K30: k"] = BEGINNINGS,
    show: Annotated[
        int | None, "the seed of a kernel: print it, its rewrites, and what is wrong, instead"
    ] = None,
    build: Annotated[int | None, "so many kernels into one executable: how long that takes, instead"] = None,
) -> Iterator[Told]:
    if lacking := missing():
        raise Missing(lacking)
    first = random.SystemRandom().randrange(1 << 30) if seed is None else seed
    if programs is not None:
        yield from references(programs, only)
    elif build is not None:
        yield from built(build, first)
    elif show is not None:
        yield from one(FORMS[forms[0]], show, schedules)
    else:
        yield from random_kernels(forms, kernels, first, schedules, jobs)


def one(kind: Form, seed: int, schedules: int) -> Iterator[Told]:
    """A kernel, its rewrites, and what is wrong with them."""
    text = kind(seed).text()
    yield text
    for rewrite in rewrites(text):
        yield f"// ---- {rewrite.title}\n{rewrite.text}"
    result = check_kernels([seed], schedules, kind, more=True)
    yield from (Wrong(f"{title}\n{wrong}") for _, title, wrong in result.mismatches)
    yield from (Wrong(f"the original: {wrong}") for _, wrong in result.unfit)


def references(seeds: int, beginnings: Sequence[str]) -> Iterator[Told]:
    for only in beginnings:
        found = check_references(seeds, only)
        yield Figure(f"{only}…: programs", found.programs)
        yield Figure(f"{only}…: rewrites", found.rewrites)
        yield Figure(f"{only}…: runs", found.runs)
        yield f"{only}…: lack barriers on purpose: {', '.join(found.racy) or 'none'}"
        yield from map(Wrong, found.wrong)


def built(count: int, seed: int) -> Iterator[Told]:
    sources = [Generator(number).source(f"{number}") for number in range(seed, seed + count)]
    build(sources[:1]).close()  # the runtime and the precompiled header are made once for a machine
    before = processor_seconds()
    yield Figure("wall", clock_ms(lambda: build(sources).close()) / 1e3, "s", "lower")
    yield Figure("processor", processor_seconds() - before, "s", "lower")
    yield Figure("lines", sum(source.text.count("\n") for source in sources))


def _deaf() -> None:
    """A process of the pool is not interrupted by itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def random_kernels(
    forms: Sequence[Name], kernels: int, first: int, schedules: int, jobs: int
) -> Iterator[Told]:
    """So many kernels of each form, from the seed ``first`` on."""
    yield f"{kernels} random kernels of {', '.join(forms)} from seed {first}, {schedules} schedules"
    totals, interrupted = {form: Result() for form in forms}, ""
    with ProcessPoolExecutor(jobs, initializer=_deaf) as pool:
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
                progress(f"{form}: {totals[form].kernels} kernels, {len(totals[form].mismatches)} mismatches")
        except (KeyboardInterrupt, BrokenProcessPool):  # the second: something ended a process of it
            pool.shutdown(wait=False, cancel_futures=True)
            done = min(total.kernels for total in totals.values())
            interrupted = f"interrupted; goes on with --seed {first + done} --kernels {kernels - done}"
    for form, total in totals.items():
        yield from (
            Wrong(f"{form} {seed}: the original is not clean: {wrong}") for seed, wrong in total.unfit
        )
        for seed, title, wrong in total.mismatches:
            yield Wrong(f"{form} {seed}: {title}\n  {wrong}\n  {form} --show {seed}")
        for figure in counted(
            total, lower=("mismatches", "unfit", "races", "analysis", "building", "running")
        ):
            yield Figure(f"{form}: {figure.name}", figure.value, figure.unit, figure.better)
    if interrupted:
        raise Missing(interrupted)
