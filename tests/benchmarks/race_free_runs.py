"""Kernels of the corpora with the verdict race-free, run in the executor: no run may show a race.

Each kernel becomes a program of its own (``executor.drivers``), with blocks and numbers drawn at random among those
under which its verdict is race-free. Launches with an access outside of a buffer, and those that come to no end, are
none that a program makes. Two writes of the same value are no race. With ``SMEM_CORPORA_ALL=1`` of all corpora.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated

from benchmarks.deletion_corpora import candidates, outcomes_of
from benchmarks.runner.declared import Figure, Told, Wrong, benchmark
from benchmarks.runner.figures import counted
from benchmarks.runner.programs import chosen_corpora
from executor.model import Source

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check

_NUMBERS = (*range(1, 9), 16, 31, 32, 33, 64, 100, 128, 255, 256, 500)
_PER_UNIT = 24  # programs in one executable


@dataclass
class Tally:
    """``programs`` of ``kernels`` ran; ``runs``: those that came to an end inside of all buffers; ``racy``: what they
    show, by program."""

    kernels: int = 0
    programs: int = 0
    runs: int = 0
    refused: int = 0
    racy: dict[str, str] = field(default_factory=dict)


def is_race_free(source: Source) -> bool:
    """Is it the verdict on the one kernel of a program?"""
    report = check(source.text)
    verdicts = [verdict for facts in report.facts for verdict in facts.analysis.verdicts]
    return bool(verdicts) and all(verdict.kind is VerdictKind.RACE_FREE for verdict in verdicts)


def drawn(choices: Sequence[Source], count: int, chance: random.Random) -> Iterator[Source]:
    """Programs of one kernel that are race-free: other blocks, other numbers."""
    blocks = {each.launch.block: each for each in choices if each.launch is not None}
    free = [each for each in blocks.values() if is_race_free(each)]
    for number in range(count if free else 0):
        source = free[0] if number % 2 == 0 else chance.choice(free)
        assert source.launch is not None
        arguments = tuple(
            chance.choice(_NUMBERS) if isinstance(each, int) else each for each in source.launch.arguments
        )
        launch = replace(source.launch, arguments=arguments)
        yield replace(source, name=f"{source.name} #{number}", launch=launch)


def judge(kernels: Sequence[Sequence[Source]], schedules: int, tally: Tally) -> None:
    """Run the programs of some kernels, each under its part of the schedules."""
    sources = [source for kernel in kernels for source in kernel]
    failed: dict[str, str] = {}
    for source, outcomes in outcomes_of(sources, failed, range(schedules)).items():
        ended = [each for each in outcomes if each.trap is None and each.completed]
        tally.programs += bool(ended)
        tally.runs += len(ended)
        for outcome in ended:
            races = [race for race in outcome.races if not race.first.kind == race.second.kind == "write"]
            if races or outcome.divergence:
                tally.racy[source] = str(races[0] if races else outcome.divergence[0])
                break
    tally.refused += len(failed)


@benchmark()
def measure(
    *,
    only: Annotated[tuple[str, ...], "corpora whose name has one of these words"] = (),
    schedules: Annotated[int, "of each kernel"] = 100,
    launches: Annotated[int, "of each kernel"] = 4,
    sample: Annotated[int, "so many kernels, at random"] = 200,
    seed: int = 7,
) -> Iterator[Told]:
    chance = random.Random(seed)
    reasons = Counter[str]()
    choices: list[list[Source]] = []
    for found in chosen_corpora(only, partial(candidates, reasons=reasons)):
        if isinstance(found, str):
            yield found
        else:
            choices.append(found)
    yield from (Figure(why, count) for why, count in reasons.most_common())
    chance.shuffle(choices)
    tally = Tally()
    waiting: list[list[Source]] = []
    for each in choices:
        if tally.kernels >= sample:
            break
        sources = list(drawn(each, launches, chance))
        tally.kernels += bool(sources)
        waiting += [sources] if sources else []
        if sum(map(len, waiting)) >= _PER_UNIT:
            judge(waiting, max(1, schedules // launches), tally)
            waiting = []
    judge(waiting, max(1, schedules // launches), tally)
    yield from counted(tally, lower=("racy", "refused"))
    yield from (Wrong(f"{name}: {shown}") for name, shown in tally.racy.items())
