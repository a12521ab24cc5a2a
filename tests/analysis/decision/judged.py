"""What is said of random kernels, held against all conflicts of many launches.

A verdict ``race-free``, and every pair of accesses that is taken to be safe, must have no conflict under any launch
that the program may make; a race that is told must have one.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from smem_lsp.analysis.decision.model import Decision, Verdict, VerdictKind
from smem_lsp.analysis.hazards.model import Race
from smem_lsp.engine import check
from smem_lsp.ir.nodes import Access, AccessKind, Dims
from smem_lsp.rules import racing
from smem_lsp.rules.decision_words import why
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.kernel_verdict import kernel_verdict
from smem_lsp.rules.model import Severity

from .random_programs import Program, program
from .running import Conflict, Divergent, Launch, Run, Site, Undefined, run

_LAUNCHES = 14  # of a kernel
_AGAIN = 60  # more, at most, of one of which a race is told that none of those showed
_MOST_WITNESSES = 6
_OF_A_WITNESS = 12  # of these, with its sizes and other data
_MOST_THREADS = 256  # of a block that is run
_KINDS = {
    AccessKind.READ: frozenset("R"),
    AccessKind.WRITE: frozenset("W"),
    AccessKind.UPDATE: frozenset("RWA"),
}


@dataclass
class Tally:
    """``free``, ``racy``, ``undecided``: verdicts; ``conflicts``: kernels with one; ``idle``: those that have no launch
    that counts, ``settled``: decided ones of the others; ``told``: races at warning or above, ``unshown``: of these,
    those that no launch could show because none counts; ``reasons``: why kernels are undecided; ``wrong``: seed, what
    is wrong, and the launch."""

    kernels: int = 0
    free: int = 0
    racy: int = 0
    undecided: int = 0
    conflicts: int = 0
    found: int = 0
    idle: int = 0
    settled: int = 0
    told: int = 0
    unshown: int = 0
    pairs: int = 0
    open: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    wrong: list[tuple[int, str]] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        for name in self.__dataclass_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(frozen=True)
class Seen:
    """``shown``: conflicts by launch; ``divergent``: a launch in which threads wait at different barriers; ``came``:
    statements that threads came to before a launch did what C does not define."""

    shown: Sequence[tuple[Launch, Sequence[Conflict]]]
    divergent: Launch | None
    came: frozenset[Site] = frozenset()


def judge(seeds: Iterable[int]) -> Tally:
    """The kernels of these seeds."""
    tally = Tally()
    for seed in seeds:
        one(seed, program(seed), tally)
    return tally


def one(seed: int, kernel: Program, tally: Tally) -> None:
    """Judge one kernel."""
    report = check(kernel.text)
    tally.kernels += 1
    if len(report.facts) != 1:
        tally.undecided += 1
        tally.reasons["not analysed"] += 1
        return
    facts = report.facts[0]
    verdicts = facts.analysis.verdicts
    decided = _count(facts, verdicts, tally)
    seen = watched(kernel, kernel.launches(random.Random(seed), _LAUNCHES))
    racing_launches = [(launch, found) for launch, found in seen.shown if found]
    tally.idle += not seen.shown
    tally.settled += bool(seen.shown) and decided
    tally.conflicts += bool(racing_launches)
    tally.found += bool(racing_launches) and _is(verdicts, VerdictKind.RACY)
    if (
        kernel_verdict(facts).kind is VerdictKind.RACE_FREE
    ):  # that of the kernel counts lanes that miss a mask, too
        for wrong in _waiting_apart(verdicts, seen):
            tally.wrong.append((seed, wrong))
    for wrong in _missed(facts, kernel, verdicts, seen, racing_launches):
        tally.wrong.append((seed, wrong))
    for wrong in _false(seed, kernel, facts, seen, tally):
        tally.wrong.append((seed, wrong))


def watched(
    kernel: Program, launches: Iterable[Launch], *, strays: bool = False, mixed: bool = False
) -> Seen:
    """What the launches show; those that a program may not make are left out, unless ``strays``. ``mixed``: other
    threads come between two accesses of one."""
    shown: list[tuple[Launch, Sequence[Conflict]]] = []
    divergent = None
    came = set[Site]()
    for launch in launches:
        try:
            found: Run = run(kernel.python, kernel.arrays, launch, strays=strays, mixed=mixed)
        except Undefined:
            continue
        except Divergent:
            divergent = launch
            continue
        shown.append((launch, tuple(found.conflicts.values())))
        came |= found.came
    return Seen(shown, divergent, frozenset(came))


def _count(facts: KernelFacts, verdicts: Sequence[Verdict], tally: Tally) -> bool:
    """Is the kernel decided?"""
    tally.pairs += sum(each.pairs for each in verdicts)
    tally.open += sum(each.pairs - each.apart for each in verdicts)
    if _is(verdicts, VerdictKind.RACY):
        tally.racy += 1
    elif verdicts and all(each.kind is VerdictKind.RACE_FREE for each in verdicts):
        tally.free += 1
    else:
        tally.undecided += 1
        reasons = (why(each.reason) for verdict in verdicts for each in verdict.reasons)
        for reason in {str(each.placed(facts.kernel)) for each in reasons}:
            tally.reasons[reason] += 1
        return False
    return True


def _is(verdicts: Sequence[Verdict], kind: VerdictKind) -> bool:
    return any(each.kind is kind for each in verdicts)


def _waiting_apart(verdicts: Sequence[Verdict], seen: Seen) -> Iterator[str]:
    for verdict in verdicts:
        free = verdict.kind is VerdictKind.RACE_FREE
        if free and seen.divergent is not None and _speaks_of(verdict, seen.divergent.dims):
            yield f"race-free, but threads wait at different barriers: {seen.divergent.words()}"


def _missed(
    facts: KernelFacts,
    kernel: Program,
    verdicts: Sequence[Verdict],
    seen: Seen,
    racing_launches: Sequence[tuple[Launch, Sequence[Conflict]]],
) -> Iterator[str]:
    """Conflicts of what is taken to be safe. A race may make threads do what they do not without it."""
    for verdict in verdicts:
        free = verdict.kind is VerdictKind.RACE_FREE
        if not free and not verdict.pairs:
            continue  # no pair was asked about
        known: set[object] = set()
        for launch, found in racing_launches:
            if not _speaks_of(verdict, launch.dims):
                continue
            if kernel.feeds and any(
                _is_of(facts, each, conflict) for each in verdict.decisions for conflict in found
            ):
                continue
            for conflict in found:
                key = conflict.first, conflict.second
                if key in known or any(_is_of(facts, each, conflict) for each in verdict.decisions):
                    continue
                known.add(key)
                what = "race-free" if free else "a pair is taken to be safe"
                yield f"{what}, but {said(conflict)}: {launch.words()}"


def _speaks_of(verdict: Verdict, dims: Dims) -> bool:
    if verdict.blocks:
        return any(shape.dims == dims for shape in verdict.blocks)
    if verdict.most is not None and any(size > most for size, most in zip(dims, verdict.most)):
        return False
    return all(size == 1 or axis in verdict.axes for axis, size in zip("xyz", dims))


def said(conflict: Conflict) -> str:
    one, other = conflict.threads
    lanes = "lanes" if conflict.lanes else "threads"
    first, second = (f"{site.kind} in line {site.line}" for site in (conflict.first, conflict.second))
    return f"{lanes} {one} ({first}) and {other} ({second}) meet at byte {conflict.byte} of array {conflict.array}"


def _is_of(facts: KernelFacts, decision: Decision | Race, conflict: Conflict) -> bool:
    """Is it about these two accesses?"""
    one, other = decision.first, decision.second
    first, second = conflict.first, conflict.second
    return (_stands(facts, one, first) and _stands(facts, other, second)) or (
        _stands(facts, one, second) and _stands(facts, other, first)
    )


def _stands(facts: KernelFacts, access: Access, site: Site) -> bool:
    return facts.line(access.line) in (site.line, site.call) and site.kind in _KINDS[access.kind]


def told(facts: KernelFacts) -> list[Race]:
    """The races that are told as errors and warnings."""
    if not racing.followed(facts):
        return []
    races = facts.hazards.races
    return [each for each in races if facts.graded(each, Severity.ERROR).severity <= Severity.WARNING]


def _false(seed: int, kernel: Program, facts: KernelFacts, seen: Seen, tally: Tally) -> Iterator[str]:
    """Races that are told, or that a verdict counts, and that no launch shows."""
    races = told(facts)
    tally.told += len(races)
    left: dict[Dims, list[Race | Decision]] = {}
    for race, dims in _claimed(facts, races):
        if not any(_is_of(facts, race, each) for _, found in seen.shown for each in found):
            left.setdefault(dims, []).append(race)
    for dims, unshown in left.items():
        came = set[Site]()
        if math.prod(dims) <= _MOST_THREADS:
            for number, launch in enumerate(_launches(seed, kernel, facts, dims, unshown)):
                found = watched(kernel, [launch], strays=True, mixed=number % 2 == 1)
                came |= found.came
                unshown = [
                    race
                    for race in unshown
                    if not any(
                        _is_of(facts, race, each) for _, conflicts in found.shown for each in conflicts
                    )
                ]
                if not unshown:
                    break
        for race in unshown:
            lines = facts.line(race.first.line), facts.line(race.second.line)
            if _could_be_seen(facts, race, came):
                yield f"no run shows the race of lines {lines[0]} and {lines[1]}, block {dims}"
            else:
                tally.unshown += 1


def _could_be_seen(facts: KernelFacts, race: Race | Decision, came: Iterable[Site]) -> bool:
    """Did threads come to each of the two accesses? Where every launch is undefined in front of them, or waits at
    different barriers, none can speak against the race."""
    return all(any(_stands(facts, access, site) for site in came) for access in (race.first, race.second))


def _claimed(facts: KernelFacts, races: Iterable[Race]) -> Iterator[tuple[Race | Decision, Dims]]:
    """Each race with the block that shows it."""
    yield from ((race, race.dims) for race in races)
    known = {frozenset(race.pair) for race in races}
    for verdict in facts.analysis.verdicts:
        for each in verdict.decisions:
            pair = frozenset((each.first.point, each.second.point))
            if each.answer.is_race and each.witness is not None and pair not in known:
                yield each, each.witness.dims


def _launches(
    seed: int, kernel: Program, facts: KernelFacts, dims: Dims, unshown: Iterable[Race | Decision]
) -> Iterator[Launch]:
    """Many, in the block of the witness: with the sizes of the ``unshown`` ones first."""
    chance = random.Random(seed + 1)
    pairs = {frozenset((each.first.point, each.second.point)) for each in unshown}
    decided = (each for verdict in facts.analysis.verdicts for each in verdict.decisions)
    wanted = (each for each in decided if frozenset((each.first.point, each.second.point)) in pairs)
    sizes: list[Mapping[str, int]] = []
    for each in wanted:
        if each.witness is not None and each.witness.sizes not in sizes and len(sizes) < _MOST_WITNESSES:
            sizes.append(each.witness.sizes)
    asked = [int(number) for number in re.findall(r"\b\d+\b", kernel.text)]  # what a guard may compare with
    threads = math.prod(dims)
    places = sorted({*asked, threads + 1, 3 * threads})  # of blocks
    for number, launch in enumerate(kernel.launches(chance, _AGAIN + _OF_A_WITNESS * len(sizes))):
        given = dict(launch.arguments)
        block, grid = launch.block, launch.grid
        named = sizes[number // _OF_A_WITNESS] if number < _OF_A_WITNESS * len(sizes) else {}
        for parameter in kernel.types:
            if parameter in kernel.fixed:
                continue
            if parameter in named:
                given[parameter] = named[parameter]
            elif (kind := chance.random()) < 0.3:
                given[parameter] = chance.randrange(140)
            elif kind < 0.5:
                given[parameter] = chance.choice(asked)
        if kernel.by_argument:
            given["n"] = dims[0]
        if not kernel.grid:
            place = places[number // 3 % len(places)] if number % 3 == 0 else block
            grid = named.get("gridDim.x", max(grid, place + 1))
            block = named.get("blockIdx.x", place % grid)
            grid = max(grid, block + 1)
        yield Launch(dims, given, launch.data, block, grid)


__all__ = ["Site", "Tally", "judge", "one", "said", "told", "watched"]
