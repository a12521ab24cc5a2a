"""Merged memory against the original: random kernels and every rewrite of them, under several schedules."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from .model import Source
from .programs import build
from .random_kernels import Generator, host_program
from .rewriting import differences, outcomes, rewrites_of_first_kernel


@dataclass
class Result:
    """``mismatches``: seed, title of the rewrite, what is wrong. ``unfit``: originals that are not clean."""

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


def check_kernels(seeds: list[int], schedules: int) -> Result:
    """Original and rewrites of the kernels of these seeds, each under ``schedules`` schedules.

    A kernel without a rewrite is not run.
    """
    result = Result(kernels=len(seeds))
    started = time.perf_counter()
    sources, pairs = [], []
    for seed in seeds:
        generator = Generator(seed)
        text = generator.text()
        found = rewrites_of_first_kernel(text)
        host = host_program(generator.threads)
        if found:
            sources.append(Source(f"{seed}", text + host))
        for number, rewrite in enumerate(found):
            name = f"{seed}/{number}"
            sources.append(Source(name, rewrite.text + host))
            pairs.append((seed, name, rewrite.title))
    result.analysis = time.perf_counter() - started
    result.rewrites = len(pairs)
    rewritten = dict.fromkeys(seed for seed, _, _ in pairs)
    result.rewritten = len(rewritten)
    if not sources:
        return result
    started = time.perf_counter()
    with build(sources) as programs:
        result.building = time.perf_counter() - started
        started = time.perf_counter()
        seen = outcomes(programs, [source.name for source in sources], range(schedules))
        result.running = time.perf_counter() - started
    everything = [outcome for each in seen.values() for outcome in each]
    result.runs = len(everything)
    result.accesses = sum(outcome.accesses for outcome in everything)
    result.races = sum(outcome.race_count for outcome in everything)
    unfit = {}
    for seed in rewritten:
        wrong = differences(seen[f"{seed}"], seen[f"{seed}"])
        if wrong:
            unfit[seed] = wrong
    result.unfit = list(unfit.items())
    for seed, name, title in pairs:
        if seed not in unfit:
            wrong = differences(seen[f"{seed}"], seen[name])
            if wrong:
                result.mismatches.append((seed, title, wrong))
    return result
