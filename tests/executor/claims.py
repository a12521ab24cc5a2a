"""What is said of random kernels that may race, held against their runs.

A race that is told must appear between its two lines, at the witness's own block, within ``SEEDS`` schedules; the same
holds for barriers that threads miss, reads of what nobody wrote and accesses outside of a buffer. Without the barriers
that are told to be redundant nothing may change. Barriers that are proved to be reached by all threads may not be met
by threads that wait at others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from smem_lsp.engine import FileReport, check
from smem_lsp.ir.nodes import Barrier, BarrierKind, walk
from smem_lsp.rules import racing
from smem_lsp.rules.facts import KernelFacts

from .model import Outcome, Source
from .programs import Run, build
from .racy_kernels import Generator, Kernel, few, long, many

SEEDS = 20
_FIRST = range(1)  # shows nearly everything
# Schedules of what is not shown then, with every pair; then with more launches, too, which costs a hundred times more.
_AGAIN = ((range(4), few), (range(2), many), (range(2), long), (range(2, SEEDS), many))
_WITHOUT = range(2)  # schedules of kernels without their redundant barriers
_ACCESSES, _SECONDS = 1_000_000, 5  # of one run; some kernels never end
_PLACES = ("SMEM103", "SMEM208", "SMEM402")  # that are claims of one line

Shape = tuple[int, int, int]


@dataclass(frozen=True)
class Claim:
    """``what``: the kind; ``lines``: of the two accesses in rising order, or of places of which one is enough;
    ``shape``: a block in which it happens; ``sure``: in every run, whatever the data."""

    kernel: int
    what: str
    lines: tuple[int, ...]
    shape: Shape
    sure: bool = True

    def shown(self, outcome: Outcome) -> bool:
        if "race" in self.what:
            return any(race.lines == self.lines for race in outcome.races)
        if self.what == "SMEM103":
            touched = [each.line for each in outcome.uninitialised]  # or with a write that nothing orders
            return any(
                line in self.lines for line in [*touched, *(n for r in outcome.races for n in r.lines)]
            )
        if outcome.trap is not None and outcome.trap.line in self.lines:
            return True
        met = [*(each.lines for each in outcome.divergence), *outcome.scattered]
        met += [(each.line,) for each in outcome.deadlock]
        if self.what == "SMEM208":
            met.append(outcome.abandoned)
        return any(line in lines for lines in met for line in self.lines)


@dataclass
class Tally:
    """``told`` and ``shown``: claims by kind; ``unjudged``: those not shown by kernels that came to no end, or of lines
    that are never run. ``racy``: kernels that race, of these ``found``: those of which that is told; ``freed``: kernels
    whose redundant barriers were taken away. ``wrong``: seed of the kernel and what no run shows, or a run shows to be
    wrong."""

    kernels: int = 0
    racy: int = 0
    found: int = 0
    freed: int = 0
    told: Counter[str] = field(default_factory=Counter)
    shown: Counter[str] = field(default_factory=Counter)
    unjudged: Counter[str] = field(default_factory=Counter)
    missed: list[int] = field(default_factory=list)
    wrong: list[tuple[int, str]] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        for name in self.__dataclass_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(frozen=True)
class Judged:
    """A kernel and what is said of it. ``without``: its text without redundant barriers, if there are any; ``agreed``:
    are all barriers proved to be reached by all threads?"""

    number: int
    kernel: Kernel
    claims: tuple[Claim, ...]
    without: Kernel | None
    agreed: bool

    def source(self) -> Source:
        """In a block in which most of what is said happens."""
        shape = self.claims[0].shape if self.claims else self.kernel.shape
        return self.kernel.source(_name(self.number, shape), shape)

    def pair(self) -> tuple[Source, Source]:
        """As it stands and without its redundant barriers."""
        assert self.without is not None
        return self.kernel.source(f"{self.number}"), self.without.source(f"{self.number} without")

    @property
    def mispaired(self) -> bool:
        return any(claim.what == "SMEM203" for claim in self.claims)


def _name(number: int, shape: Shape) -> str:
    return f"{number} {shape}"


def judge(numbers: Iterable[int]) -> Tally:
    """Kernels of these seeds, most of what is asked in one executable."""
    judged = [read(number) for number in numbers]
    tally = Tally(kernels=len(judged))
    left = {claim for each in judged for claim in each.claims}
    tally.told.update(claim.what for claim in left)
    seen = _run([each.source() for each in judged], _FIRST)
    for each in judged:
        _note(each, seen[each.source().name], tally)
    left = {
        claim for claim in left if not any(map(claim.shown, seen.get(_name(claim.kernel, claim.shape), ())))
    }
    freed = [each for each in judged if each.without is not None]
    tally.freed = len(freed)
    seen = _run([source for each in freed for source in each.pair()], _WITHOUT)
    for each in freed:
        wrong = _changed(*(seen[source.name] for source in each.pair()))
        if wrong:
            tally.wrong.append((each.number, f"a barrier is needed that is told to be redundant: {wrong}"))
    kernels = {each.number: each for each in judged}
    # Behind a barrier that is taken for another one nothing is certain.
    open_ended = {c for c in left if not c.sure or (c.what != "SMEM203" and kernels[c.kernel].mispaired)}
    for seeds, sizes in _AGAIN:
        names = {_name(c.kernel, c.shape): c for c in left - open_ended}
        programs = [kernels[c.kernel].kernel.source(name, c.shape, sizes) for name, c in names.items()]
        seen = _run(programs, seeds, pairs=True)
        for claim in left - open_ended:
            runs = seen[_name(claim.kernel, claim.shape)]
            if any(map(claim.shown, runs)):
                left.remove(claim)
            elif not all(o.completed and not (claim.what == "SMEM103" and o.divergence) for o in runs):
                open_ended.add(claim)
    open_ended |= _never_run(left - open_ended, kernels)
    for claim in sorted(left, key=lambda each: (each.kernel, each.lines)):
        if claim in open_ended:
            tally.unjudged[claim.what] += 1
        else:
            lines = " and ".join(map(str, claim.lines))
            tally.wrong.append(
                (claim.kernel, f"no run shows {claim.what}, line {lines}, block {claim.shape}")
            )
    tally.shown = tally.told - Counter(claim.what for claim in left)
    return tally


def _never_run(claims: Iterable[Claim], kernels: Mapping[int, Judged]) -> set[Claim]:
    """Reads of what nobody wrote, and barriers, that stand where no run comes to: behind conditions that contradict
    each other, or that these data never fulfil."""
    asked = {f"{_name(c.kernel, c.shape)} {c.lines}": c for c in claims if c.what in ("SMEM103", "SMEM203")}
    programs = []
    for name, claim in asked.items():
        lines = kernels[claim.kernel].kernel.text.split("\n")
        lines[claim.lines[0] - 1] = "*(volatile int*)0 = 1; " + lines[claim.lines[0] - 1]
        probe = replace(kernels[claim.kernel].kernel, text="\n".join(lines))
        programs.append(probe.source(name, claim.shape, many))
    seen = _run(programs, range(1))
    return {claim for name, claim in asked.items() if all(outcome.completed for outcome in seen[name])}


def read(number: int) -> Judged:
    """The kernel of a seed and what is said of it."""
    kernel = Generator(number).kernel()
    report = check(kernel.text)
    facts = report.facts[0]
    redundant = [finding.span for finding in report.findings if finding.code == "SMEM204"]
    text = kernel.text
    for span in reversed(redundant):
        assert text[span.end - 1] == ";" or text[span.end] == ";", "no statement of its own"
        text = text[: span.start] + text[span.end :]
    block = {
        n.point for n in walk(facts.kernel.body) if isinstance(n, Barrier) and n.kind is BarrierKind.BLOCK
    }
    agreed = block <= facts.control.barriers
    claims = tuple(dict.fromkeys(_claims(number, kernel, report, facts)))
    return Judged(number, kernel, claims, replace(kernel, text=text) if redundant else None, agreed)


def _claims(number: int, kernel: Kernel, report: FileReport, facts: KernelFacts) -> Iterator[Claim]:
    if racing.followed(facts):
        for race in facts.hazards.races:
            low, high = sorted(map(facts.line, (race.first.line, race.second.line)))
            what = "race that data decide" if race.data else "race" if race.proved else "likely race"
            yield Claim(number, what, (low, high), race.dims, not race.data)
    for decision in {shown.decision.point for shown in facts.mispaired}:
        alike = [shown for shown in facts.mispaired if shown.decision.point == decision]
        sure = not any(shown.data or shown.condition for shown in alike)
        yield Claim(
            number, "SMEM203", tuple(facts.line(shown.barrier.line) for shown in alike), alike[0].dims, sure
        )
    for miscount in facts.hazards.miscounts:
        if miscount.kind == "few":
            yield Claim(number, "SMEM207", (facts.line(miscount.barrier.line),), kernel.shape)
    for finding in report.findings:
        if finding.code in _PLACES:
            line = report.source.line_number(finding.span.start)
            shape = kernel.shape if facts.shape is None else facts.shape.dims
            yield Claim(number, finding.code, (line,), shape, finding.verdict == "proved")


def _run(
    sources: Sequence[Source], seeds: Sequence[int], *, pairs: bool = False
) -> Mapping[str, list[Outcome]]:
    if not sources:
        return {}
    with build(sources) as programs:
        limits = {"budget": _ACCESSES, "seconds": _SECONDS, "pairs": pairs}
        runs = [Run(source.name, seed, **limits) for source in sources for seed in seeds]
        found: dict[str, list[Outcome]] = {source.name: [] for source in sources}
        for run, outcome in zip(runs, programs.run_all(runs)):
            found[run.program].append(outcome)
        return found


def _note(each: Judged, seen: Sequence[Outcome], tally: Tally) -> None:
    """Does it race, and do barriers that all threads come to stand alone?"""
    if any(outcome.races for outcome in seen):
        tally.racy += 1
        told = any("race" in claim.what for claim in each.claims)
        tally.found += told
        if not told:
            tally.missed.append(each.number)
    apart = [found for outcome in seen for found in outcome.divergence]
    if each.agreed and apart:
        tally.wrong.append((each.number, f"not all threads come to the barriers of lines {apart[0].lines}"))


def _changed(before: Sequence[Outcome], after: Sequence[Outcome]) -> str:
    """What is wrong without redundant barriers, in words."""
    if any(outcome.races or outcome.divergence or not outcome.completed for outcome in before):
        return ""
    for outcome in after:
        if outcome.races or outcome.divergence or not outcome.completed:
            return outcome.complaints
    if all(outcome.clean for outcome in before) and any(o.buffers != before[0].buffers for o in after):
        return "other bytes"
    return ""
