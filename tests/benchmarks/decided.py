"""Verdicts on random kernels against brute force over all conflicts of their launches (``analysis.decision``).

Told is how many kernels are decided and why the others are not; each wrong answer comes with the option that shows its
kernel. It is wrong, too, when none is decided.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Annotated

from analysis.decision.judged import Tally, judge, one, said, told, watched
from analysis.decision.random_programs import program
from benchmarks.runner.declared import Figure, Told, Wrong, benchmark
from benchmarks.runner.figures import counted
from benchmarks.runner.programs import numbered, pooled

from smem_lsp.engine import check
from smem_lsp.rules.decision_words import when, why

BATCH = 100


@benchmark()
def measure(
    *,
    kernels: int = 100_000,
    seed: int = 0,
    jobs: int = 1,
    show: Annotated[int | None, "the seed of a kernel: print it and all that is said of it, instead"] = None,
    undecided: Annotated[
        str | None, "name the kernels undecided for a reason with this in it, instead"
    ] = None,
) -> Iterator[Told]:
    if show is not None:
        yield from shown(show)
        return
    seeds = range(seed, seed + kernels)
    if undecided is not None:
        for each in seeds:
            reasons = judge([each]).reasons
            if any(undecided in reason for reason in reasons):
                yield "; ".join([str(each), *reasons])
        return
    total = Tally()
    for tally in pooled(judge, seeds, BATCH, jobs):
        total.add(tally)
        yield from (Wrong(f"{wrong} --show {each}") for each, wrong in tally.wrong)
    decided, judged = total.free + total.racy, total.kernels - total.idle
    yield from counted(total, lower=("wrong", "undecided", "open", "reasons"), higher=("settled", "found"))
    yield Figure("decided", decided, better="higher", whole=total.kernels)
    yield Figure("decided, of those with a launch that counts", total.settled, better="higher", whole=judged)
    if not decided:
        yield Wrong("none is decided")


def shown(seed: int) -> Iterator[Told]:
    """A kernel, the verdicts on it, its conflicts, and what is wrong."""
    kernel = program(seed)
    yield numbered(kernel.text)
    for facts in check(kernel.text).facts:
        line = facts.line
        for verdict in facts.analysis.verdicts:
            dims = ", ".join(str(shape.dims) for shape in verdict.blocks) or f"every block in {verdict.axes}"
            yield f"{verdict.kind.value} for {dims}; pairs {verdict.pairs}, apart {verdict.apart}"
            for reason in verdict.reasons:
                yield f"  line {line(reason.line)}: {why(reason.reason).placed(facts.kernel)}"
            for each in verdict.decisions:
                yield f"  {line(each.first.line)} {line(each.second.line)} {each.answer.value} {each.witness}"
        for race in told(facts):
            lines = f"lines {line(race.first.line)} and {line(race.second.line)}"
            yield f"told: {lines}, block {race.dims} {when(race.condition)}"
    for launch, found in watched(kernel, kernel.launches(random.Random(seed), 14)).shown:
        yield from (f"{said(conflict)}: {launch.words()}" for conflict in found)
    tally = Tally()
    one(seed, kernel, tally)
    yield from (Wrong(wrong) for _, wrong in tally.wrong)
