"""Random kernels and every rewrite of them: what the text of a rewrite leaves alone, what is left to rewrite after it,
and the bytes that both give under several schedules."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from smem_lsp.source.queries import Store

from .carved_kernels import CarvedKernel
from .left_alone import left_over, touched
from .model import Source
from .programs import build_what_compiles
from .refilled_kernels import RefilledKernel
from .rewriting import Rewrite, differences, looked_at, outcomes, rewrites_of
from .ring_kernels import RingKernel
from .written_kernels import WrittenKernel

Form = type[WrittenKernel | RefilledKernel | CarvedKernel | RingKernel]
AGAIN = 4  # of so many kernels one is rewritten twice
ORIGINALS = 2  # schedules of an original: what it does must not depend on them


@dataclass
class Result:
    """``mismatches``: seed, title of the rewrite, what is wrong. ``unfit``: originals that are not clean. ``again``:
    rewrites of what was rewritten, with another barrier. ``runs``: of originals and of rewrites, each of several
    launches; ``executions``: launches of rewrites, each compared with the original's.
    ``analysis``, ``building``, ``running``: seconds of processor time."""

    kernels: int = 0
    rewrites: int = 0
    again: int = 0
    rewritten: int = 0
    runs: int = 0
    executions: int = 0
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
    seeds: list[int], schedules: int, kind: Form = WrittenKernel, *, more: bool = False
) -> Result:
    """Original and rewrites of the kernels of these seeds, each under ``schedules`` schedules.

    A kernel without a rewrite is not run. ``more``: numbers and inputs to launch with; what is left to rewrite is then
    looked for after the rewrites of some kernels only.
    """
    result = Result(kernels=len(seeds))
    started = processor_seconds()
    sources, pairs = [], []
    for seed in seeds:
        kernel = kind(seed)
        text = kernel.text()
        host, cache = kernel.host(more=more), Store()
        found = rewrites_of(looked_at(text, cache))
        if found:
            sources.append(Source(f"{seed}", text + host))
        for number, rewrite in enumerate(found):
            wrong, further = list(touched(text, rewrite, kernel.declaring)), list[Rewrite]()
            if seed % AGAIN == 0 or not more:
                report = looked_at(rewrite.text, cache)
                wrong += left_over(rewrite, report)
                further = rewrites_of(report)[:1] if seed % AGAIN == 0 else []
            result.mismatches += [(seed, rewrite.title, each) for each in wrong]
            result.again += len(further)
            for n, each in enumerate([rewrite, *further]):
                sources.append(Source(f"{seed}/{number}/{n}", each.text + host))
                pairs.append((seed, sources[-1].name, each.title))
    result.analysis = processor_seconds() - started
    result.rewrites = len(pairs) - result.again
    rewritten = dict.fromkeys(seed for seed, _, _ in pairs)
    result.rewritten = len(rewritten)
    if not sources:
        return result
    started = processor_seconds()
    programs, refused = build_what_compiles(sources)
    with programs:
        result.building = processor_seconds() - started
        started = processor_seconds()
        names = [source.name for source in sources if source.name not in refused]
        originals = [name for name in names if "/" not in name]
        seen = dict(outcomes(programs, originals, range(min(schedules, ORIGINALS))))
        seen |= outcomes(programs, [name for name in names if "/" in name], range(schedules))
        result.running = processor_seconds() - started
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
            result.executions += sum(outcome.launches for outcome in seen.get(name, ()))
            if wrong:
                result.mismatches.append((seed, title, wrong))
    return result


def processor_seconds() -> float:
    """Of this process and of those that it has waited for."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system
