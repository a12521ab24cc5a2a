"""Random kernels and every rewrite of them: what the text of a rewrite leaves alone, what is left to rewrite after it,
and the bytes that both give under several schedules."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from smem_lsp.engine import check

from .carved_kernels import CarvedKernel
from .left_alone import left_over, touched
from .model import Source
from .programs import build_what_compiles
from .refilled_kernels import RefilledKernel
from .rewriting import differences, outcomes, rewrites_of
from .written_kernels import WrittenKernel

AGAIN = 4  # of so many kernels one is rewritten twice


@dataclass
class Result:
    """``mismatches``: seed, title of the rewrite, what is wrong. ``unfit``: originals that are not clean. ``again``:
    rewrites of what was rewritten, with another barrier."""

    kernels: int = 0
    rewrites: int = 0
    again: int = 0
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


def check_kernels(
    seeds: list[int],
    schedules: int,
    kind: type[WrittenKernel | RefilledKernel | CarvedKernel] = WrittenKernel,
) -> Result:
    """Original and rewrites of the kernels of these seeds, each under ``schedules`` schedules.

    A kernel without a rewrite is not run.
    """
    result = Result(kernels=len(seeds))
    started = time.perf_counter()
    sources, pairs = [], []
    for seed in seeds:
        kernel = kind(seed)
        text = kernel.text()
        host = kernel.host()
        found = rewrites_of(check(text))
        if found:
            sources.append(Source(f"{seed}", text + host))
        for number, rewrite in enumerate(found):
            report = check(rewrite.text)
            wrong = [*touched(text, rewrite, kernel.declaring), *left_over(rewrite, report)]
            result.mismatches += [(seed, rewrite.title, each) for each in wrong]
            further = rewrites_of(report)[:1] if seed % AGAIN == 0 else []
            result.again += len(further)
            for n, each in enumerate([rewrite, *further]):
                sources.append(Source(f"{seed}/{number}/{n}", each.text + host))
                pairs.append((seed, sources[-1].name, each.title))
    result.analysis = time.perf_counter() - started
    result.rewrites = len(pairs) - result.again
    rewritten = dict.fromkeys(seed for seed, _, _ in pairs)
    result.rewritten = len(rewritten)
    if not sources:
        return result
    started = time.perf_counter()
    programs, refused = build_what_compiles(sources)
    with programs:
        result.building = time.perf_counter() - started
        started = time.perf_counter()
        names = [source.name for source in sources if source.name not in refused]
        seen = outcomes(programs, names, range(schedules))
        result.running = time.perf_counter() - started
    everything = [outcome for each in seen.values() for outcome in each]
    result.runs = len(everything)
    result.accesses = sum(outcome.accesses for outcome in everything)
    result.races = sum(outcome.race_count for outcome in everything)
    unfit = {}
    for seed in rewritten:
        wrong = refused.get(f"{seed}") or differences(seen[f"{seed}"], seen[f"{seed}"])
        if wrong:
            unfit[seed] = wrong
    result.unfit = list(unfit.items())
    for seed, name, title in pairs:
        if seed not in unfit:
            wrong = refused.get(name) or differences(seen[f"{seed}"], seen[name])
            if wrong:
                result.mismatches.append((seed, title, wrong))
    return result
