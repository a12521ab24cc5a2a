"""Barrier deletion over kernels of the corpora, each run through a generated driver (``executor.drivers``).

How many kernels with shared memory and barriers there are, why some have no program, how many of the programs run
clean, and what we say of each barrier that is taken out of those against what the runs show. With
``SMEM_CORPORA_ALL=1`` of all corpora.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated

from benchmarks.deletion import said
from benchmarks.runner.declared import Figure, Told, benchmark
from benchmarks.runner.programs import chosen_corpora, cuda_files
from executor.deletion import judge
from executor.drivers import Refused, programs_of
from executor.model import Outcome, Source
from executor.programs import Run, build_what_compiles
from executor.ptx import NotModelled
from fetch import Corpus, fetch
from sample import _unit as read_unit

from smem_lsp.lowering.kernel import build_kernel
from smem_lsp.unit.unit_facts import bindings_of, survey_file

ACCESSES, SECONDS = 3_000_000, 5  # of a run that is tried


@benchmark()
def measure(
    *,
    only: Annotated[tuple[str, ...], "corpora whose name has one of these words"] = (),
    seeds: Annotated[int, "schedules for each deletion"] = 6,
) -> Iterator[Told]:
    reasons: Counter[str] = Counter()
    choices: list[list[Source]] = []
    for found in chosen_corpora(only, partial(candidates, reasons=reasons)):
        if isinstance(found, str):
            yield found
        else:
            choices.append(found)
    sources = running(choices, reasons)
    yield from (Figure(reason, count) for reason, count in reasons.most_common())
    yield Figure("run clean", len(sources), better="higher")
    yield from said(judge(sources, range(seeds)))


def candidates(corpus: Corpus, reasons: Counter[str]) -> Iterator[list[Source]]:
    """The programs of each kernel of a corpus."""
    seen: set[str] = set()
    for path in cuda_files([fetch(corpus)]):
        unit = read_unit(corpus, path, only_shared=True)
        if unit is None:
            continue
        around = survey_file(unit)
        for function in unit.functions:
            if not function.is_kernel or function.definition.text in seen:
                continue
            seen.add(function.definition.text)
            kernel = build_kernel(unit, around, function, bindings_of(around, function)[0])
            if not kernel.buffers:
                continue
            reasons["kernels with shared memory"] += 1
            try:
                yield programs_of(
                    f"{corpus.requirement} {path.name}:{kernel.line} {kernel.name}", unit, function, kernel
                )
            except Refused as reason:
                reasons[" ".join(str(reason).split()[:5])] += 1


def running(choices: Sequence[list[Source]], reasons: Counter[str]) -> list[Source]:
    """Of each kernel the first program that runs clean."""
    found: list[Source] = []
    refused: dict[str, str] = {}
    left = list(choices)
    for number in range(max(map(len, choices), default=0)):
        left = [each for each in left if len(each) > number]
        asked = [each[number] for each in left]
        results = outcomes_of(asked, refused, range(1))
        clean = {source.name for source in asked if source.name in results and _runs(results[source.name][0])}
        found += [source for source in asked if source.name in clean]
        left = [each for each in left if each[number].name not in clean | refused.keys()]
    reasons.update(map(_word, refused.values()))
    reasons["no arguments with which it runs clean"] += len(choices) - len(found) - len(refused)
    return found


def _runs(outcome: Outcome) -> bool:
    return outcome.clean and outcome.barriers > 0


def _word(message: str) -> str:
    words = (word for word in message.partition(": ")[2].split() if not word.startswith("'"))
    return f"does not compile: {' '.join(words)[:40]}"


def outcomes_of(
    sources: Sequence[Source], failed: dict[str, str], seeds: Sequence[int]
) -> dict[str, list[Outcome]]:
    """A run of each under each schedule; what cannot be built goes into ``failed``."""
    left = list(sources)
    while left:
        try:
            programs, refused = build_what_compiles(left)
        except NotModelled as error:
            name = next((each.name for each in left if str(error).startswith(each.name)), None)
            if name is None:
                raise
            failed[name] = f"line: not modelled {error}"
            left = [each for each in left if each.name != name]
            continue
        failed.update(refused)
        with programs:
            names = [each.name for each in left if each.name not in refused]
            runs = [Run(name, seed, budget=ACCESSES, seconds=SECONDS) for name in names for seed in seeds]
            found: dict[str, list[Outcome]] = {name: [] for name in names}
            for run, outcome in zip(runs, programs.run_all(runs)):
                found[run.program].append(outcome)
            return found
    return {}
