"""Barrier deletion over kernels of the corpora, each run through a generated driver (``executor.drivers``).

``SMEM_CORPORA_ALL=1 python tests/benchmarks/deletion_corpora.py [--only NAME ...] [--seeds K]``: how many kernels with
shared memory and barriers there are, why some have no program, how many of the programs run clean, and what we say of
each barrier that is taken out of those against what the runs show.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

if __name__ == "__main__":
    TESTS = Path(__file__).parents[1]
    sys.path[:0] = [str(TESTS), str(TESTS / "corpora"), str(TESTS.parent)]

from executor.deletion import judge
from executor.drivers import Refused, programs_of
from executor.model import Outcome, Source
from executor.programs import Run, build_what_compiles
from executor.ptx import NotModelled
from fetch import Corpus, Unavailable, corpora, fetch
from sample import _unit as read_unit

from smem_lsp.lowering.kernel import build_kernel
from smem_lsp.unit.unit_facts import bindings_of, survey_file

ACCESSES, SECONDS = 3_000_000, 5  # of a run that is tried


def candidates(corpus: Corpus, reasons: Counter[str]) -> Iterator[list[Source]]:
    """The programs of each kernel of a corpus."""
    seen: set[str] = set()
    for path in sorted(path for path in fetch(corpus).rglob("*") if path.suffix in (".cu", ".cuh")):
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
    return (
        "does not compile: "
        + " ".join(w for w in message.partition(": ")[2].split() if not w.startswith("'"))[:40]
    )


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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], help="corpora whose name has one of these words")
    parser.add_argument("--seeds", type=int, default=6, help="schedules for each deletion")
    options = parser.parse_args()
    reasons: Counter[str] = Counter()
    choices: list[list[Source]] = []
    for corpus in corpora():
        if options.only and not any(word in corpus.requirement for word in options.only):
            continue
        try:
            choices += candidates(corpus, reasons)
        except Unavailable as reason:
            print(f"{corpus.requirement}: {reason}", file=sys.stderr)
    sources = running(choices, reasons)
    for reason, count in reasons.most_common():
        print(f"{count:>5} {reason}")
    print(f"{len(sources):>5} run clean")
    tally = judge(sources, range(options.seeds))
    print(tally.line())
    for title, names in (
        ("not reported", tally.missed),
        ("reported and not seen", tally.false_races),
        ("harmless and not told", tally.untold),
        ("told and needed", tally.false_redundant),
    ):
        for name in names:
            print(f"  {title}: {name}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
