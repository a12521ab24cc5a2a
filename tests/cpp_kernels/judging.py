"""What is told of random kernels, held against their runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from executor.model import Outcome, Source
from executor.programs import Run, build_what_compiles
from executor.ptx import NotModelled
from executor.rewriting import differences, rewrites_of

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import FileReport, check
from smem_lsp.rules.model import Severity
from smem_lsp.source import TextEdit

from .kernels import Kernel

_MAIN = "int main() { launch(smem::output<int>(4096)); }\n"
_SEEDS = range(2)  # schedules; whether there is a race depends on none, see the package
_ACCESSES, _SECONDS = 2_000_000, 5  # of one run
_RACES = frozenset(("SMEM201", "SMEM202", "SMEM203", "SMEM205", "SMEM206", "SMEM208", "SMEM210"))
_LOUD = (Severity.ERROR, Severity.WARNING)

RACE_FREE = "race-free, and it races"
RACY = "racy, and it does not race"
TOLD = "a race is told, and it does not race"
NEEDED = "a needed barrier is offered to be removed"
MERGED = "a merge changes what it does"
ENDED = "the check fails"
WRONG = (RACE_FREE, RACY, TOLD, NEEDED, MERGED, ENDED)


@dataclass(frozen=True, slots=True)
class Answer:
    """What is told of a kernel. ``verdict``: its word; ``reason``: of what is undecided; ``told``: of its races;
    ``without``: the text without the barriers that are offered to be removed, or nothing; ``merged``: by their titles,
    the texts of its rewrites."""

    verdict: str
    reason: str = ""
    told: str = ""
    without: str = ""
    merged: Mapping[str, str] = field(default_factory=dict)
    failed: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """``truth``: ``racy``, ``free``, or why nobody knows; ``shown``: its race; ``wrong``: in which ways, in words."""

    kernel: Kernel
    answer: Answer
    truth: str
    shown: str = ""
    wrong: Mapping[str, str] = field(default_factory=dict)


def asked(text: str) -> Answer:
    try:
        return _answer(check(text))
    except Exception as error:  # noqa: BLE001 whatever it is, it is looked for
        return Answer("undecided", failed=repr(error))


def _answer(report: FileReport) -> Answer:
    verdicts = [each.verdict for each in report.kernels]
    kinds = {each.kind for each in verdicts}
    if VerdictKind.RACY in kinds:
        word = "racy"
    elif kinds == {VerdictKind.RACE_FREE}:
        word = "race-free"
    else:
        word = "undecided"
    reasons = [reason.words for each in verdicts for reason in each.reasons]
    told = [each.message for each in report.findings if each.code in _RACES and each.severity in _LOUD]
    offered = [
        edit
        for each in report.findings
        if each.code == "SMEM204"
        for fix in report.fixes_for(each)[:1]
        for edit in fix.edits
    ]
    return Answer(
        word,
        reasons[0] if reasons and word == "undecided" else "",
        " | ".join(told),
        _edited(report.source.text, offered) if offered else "",
        {each.title: each.text for each in rewrites_of(report)},
    )


def _edited(text: str, edits: Sequence[TextEdit]) -> str:
    for edit in sorted(set(edits), key=lambda each: each.span.start, reverse=True):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return text


def judged(kernels: Sequence[Kernel]) -> Iterator[Judged]:
    """Each of them, all in one executable."""
    answers = [asked(kernel.text) for kernel in kernels]
    sources = []
    for number, (kernel, answer) in enumerate(zip(kernels, answers)):
        texts = [kernel.text, *([answer.without] if answer.without else []), *answer.merged.values()]
        sources += [Source(f"{number}.{n}", text + _MAIN) for n, text in enumerate(texts)]
    seen, refused = _run(sources)
    for number, (kernel, answer) in enumerate(zip(kernels, answers)):
        name = f"{number}.0"
        if name in refused:
            yield Judged(kernel, answer, f"not run: {refused[name]}")
            continue
        before = seen[name]
        truth, shown = _truth(before)
        wrong = dict(_wrong(answer, truth, shown))
        if truth == "free" and not wrong:
            after = 1
            if answer.without:
                said = refused.get(f"{number}.1") or _changed(before, seen[f"{number}.1"])
                wrong |= {NEEDED: said} if said else {}
                after = 2
            for n, title in enumerate(answer.merged, after):
                said = refused.get(f"{number}.{n}") or _changed(before, seen[f"{number}.{n}"])
                wrong |= {MERGED: f"{title}: {said}"} if said else {}
        yield Judged(kernel, answer, truth, shown, wrong)


def _truth(seen: Sequence[Outcome]) -> tuple[str, str]:
    for each in seen:
        if not each.completed or each.divergence:
            return f"no end: {_first(each)}", ""
    races = [race for each in seen for race in each.races]
    if not races:
        return "free", ""
    return "racy", str(races[0])


def _first(outcome: Outcome) -> str:
    if outcome.trap is not None:
        return outcome.trap.kind
    return "crash" if outcome.crash else "barriers"


def _wrong(answer: Answer, truth: str, shown: str) -> Iterator[tuple[str, str]]:
    if answer.failed:
        yield ENDED, answer.failed
    if truth == "racy" and answer.verdict == "race-free":
        yield RACE_FREE, shown
    if truth == "free" and answer.verdict == "racy":
        yield RACY, answer.told
    elif truth == "free" and answer.told:
        yield TOLD, answer.told


def _changed(before: Sequence[Outcome], after: Sequence[Outcome]) -> str:
    """What is wrong with the runs of a text that was rewritten, in words."""
    for each in after:
        if each.races or not each.completed or each.divergence:
            return each.complaints
    if any(each.uninitialised or each.buffers != before[0].buffers for each in before):
        return ""  # its bytes depend on what nobody wrote, or on the order of atomics
    return differences(before, after)


def _run(sources: Sequence[Source]) -> tuple[dict[str, list[Outcome]], dict[str, str]]:
    """The runs of what can be run, and what cannot, by name."""
    refused: dict[str, str] = {}
    while True:
        left = [source for source in sources if source.name not in refused]
        try:
            programs, more = build_what_compiles(left)
            break
        except NotModelled as error:
            name = re.match(r"(\d+\.\d+)", str(error))
            if name is None:
                raise
            refused[name[1]] = str(error)
    refused |= more
    found: dict[str, list[Outcome]] = {}
    with programs:
        runs = [
            Run(s.name, seed, budget=_ACCESSES, seconds=_SECONDS)
            for s in left
            if s.name not in refused
            for seed in _SEEDS
        ]
        for run, outcome in zip(runs, programs.run_all(runs)):
            found.setdefault(run.program, []).append(outcome)
    return found, refused
