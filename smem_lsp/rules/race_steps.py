"""The two threads of a race, step by step."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from smem_lsp.analysis.hazards.model import Race
from smem_lsp.ir.nodes import Access, Barrier, BarrierKind, Elsewhere, Kernel, Loop, Node, Seq, walk
from smem_lsp.rules import racing
from smem_lsp.rules.decision_words import when
from smem_lsp.rules.elements import element
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.model import Finding, placed
from smem_lsp.rules.places import DOES, where
from smem_lsp.source.record import dataclass

BOTH = 2
"""A step of both threads; 0 and 1 are steps of one."""


@dataclass(frozen=True, slots=True)
class Step:
    """``line``: 1-based, of the checked file. ``elsewhere``: where it is, in a function of another file."""

    thread: int
    line: int
    words: str
    elsewhere: Elsewhere | None = None


@dataclass(frozen=True, slots=True)
class RaceSteps:
    """``block``: which blocks have such threads, in words."""

    title: str
    threads: tuple[str, str]
    block: str
    steps: tuple[Step, ...]


def race_steps(facts: KernelFacts, finding: Finding) -> RaceSteps | None:
    """None: the finding tells no race of two threads."""
    found = _race_of(facts, finding)
    if found is None:
        return None
    race, back = found
    first, second = race.threads
    block = "×".join(map(str, race.dims))
    return RaceSteps(
        f"{facts.kernel.name}: {racing.hazard(race)}",
        (f"thread {first}", f"thread {second}"),
        " ".join(filter(None, (f"of a {block} block", when(race.condition)))),
        tuple(_steps(facts, race, back=back)),
    )


def _race_of(facts: KernelFacts, finding: Finding) -> tuple[Race, bool] | None:
    """The race that a finding tells, and whether it goes around a loop."""
    if not racing.followed(facts):
        return None
    missing = facts.missing_barriers
    for gap in chain(missing.across, missing.within):
        for race in gap.races:
            same = all(finding.data.get(key) == value for key, value in racing.numbers(race).items())
            if same and placed(where(facts, race.second), facts.kernel, facts.source) == finding.span:
                return race, gap.back
    return None


def _steps(facts: KernelFacts, race: Race, *, back: bool) -> Iterator[Step]:
    kernel = facts.kernel
    barrier = _barrier_before(kernel, race.first)
    if barrier is not None:
        yield Step(BOTH, facts.line(barrier.line), "both have passed this barrier")
    again = _loop_around(kernel, race) if back and race.first.point != race.second.point else None
    if again is not None:
        yield Step(0, facts.line(again.line), "iteration i")
    yield Step(0, facts.line(race.first.line), _does(facts, race, 0), race.first.elsewhere)
    if again is not None:
        yield Step(1, facts.line(again.line), "iteration i + 1")
    yield Step(1, facts.line(race.second.line), _does(facts, race, 1), race.second.elsewhere)


def _does(facts: KernelFacts, race: Race, number: int) -> str:
    access = (race.first, race.second)[number]
    may = "may " if race.data else ""
    verb = DOES[access.kind]
    place = str(element(facts, access, race.byte)).replace("`", "")
    return f"{may}{verb.removesuffix('s') if may else verb} {place}"


def _barrier_before(kernel: Kernel, access: Access) -> Barrier | None:
    """The last barrier of the block that every way to the access has passed, in the same iteration of its loops."""
    found: Barrier | None = None
    at: Seq | None = kernel.body
    while at is not None:
        inside: Seq | None = None
        for node in at.items:
            if isinstance(node, Barrier) and node.kind is BarrierKind.BLOCK and node.point < access.point:
                found = node
            inside = next((part for part in _parts(node) if access in part.below), inside)
        at = inside
    return found


def _parts(node: Node) -> Iterator[Seq]:
    if isinstance(node, Loop):
        yield node.body
        return
    for name in ("then", "otherwise"):
        part = getattr(node, name, None)
        if isinstance(part, Seq):
            yield part


def _loop_around(kernel: Kernel, race: Race) -> Loop | None:
    first, last = sorted((race.first.point, race.second.point))
    around = [n for n in walk(kernel.body) if isinstance(n, Loop) and n.point < first and last < n.end_point]
    return around[-1] if around else None
