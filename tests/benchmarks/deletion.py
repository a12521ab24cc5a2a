"""Barrier deletion in the kernels of tests: how many missing and needless barriers are reported, against their runs.

The reference programs and random kernels, each without one of its barriers at a time, under so many schedules in the
executor. With ``--survivors``, instead: the reference programs without one barrier that SMEM204 tells at a time, each
under all schedules with so many different data, against the bytes of the original.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

from benchmarks.runner.declared import Figure, Told, Wrong, benchmark
from benchmarks.runner.figures import counted
from benchmarks.runner.programs import TESTS
from executor.deletion import Tally, judge, survivors
from executor.model import Source
from executor.random_kernels import Generator, host_program


@benchmark()
def measure(
    *,
    random: Annotated[int, "random kernels"] = 100,
    seeds: Annotated[int, "schedules for each deletion"] = 20,
    survivors: Annotated[int, "data for each program"] = 0,
) -> Iterator[Told]:
    names = sorted(path.name for path in (TESTS / "kernels").glob("*.cu") if ".wrong." not in path.name)
    programs = [Source(name, (TESTS / "kernels" / name).read_bytes().decode()) for name in names]
    if survivors:
        yield from surviving(programs, range(seeds), survivors)
        return
    yield from said(judge(programs, range(seeds)), "reference programs: ")
    sources = []
    for seed in range(random):
        generator = Generator(seed)
        sources.append(Source(f"{seed}", generator.text() + host_program(generator.threads)))
    yield from said(judge(sources, range(seeds)), "random kernels: ")


def surviving(programs: Sequence[Source], seeds: Sequence[int], inputs: int) -> Iterator[Told]:
    told, wrong = survivors(programs, seeds, inputs)
    yield Figure("barriers told by SMEM204", told)
    yield Figure("needed", len(wrong), better="lower")
    yield from map(Wrong, wrong)


def said(tally: Tally, whose: str = "") -> Iterator[Told]:
    """All counts, and the places of what was not said, or said wrongly."""
    yield f"{whose}not reported: {', '.join(tally.missed) or 'none'}"
    yield f"{whose}harmless and not told: {', '.join(tally.untold) or 'none'}"
    yield f"{whose}reported and not seen: {', '.join(tally.false_races) or 'none'}"
    yield f"{whose}told and needed: {', '.join(tally.false_redundant) or 'none'}"
    lower = ("missed", "untold", "false_races", "false_redundant")
    for figure in counted(tally, lower=lower, higher=("found", "told")):
        yield Figure(f"{whose}{figure.name}", figure.value, figure.unit, figure.better)
