"""Findings about races, shared by SMEM201 and SMEM202: one for each barrier that is missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from smem_lsp.analysis.decision.model import Witness
from smem_lsp.analysis.hazards.model import Race
from smem_lsp.analysis.repairs.missing_barriers import MissingBarrier
from smem_lsp.ir.causes import Opens
from smem_lsp.ir.nodes import Access, AccessKind, AddressSpace, BarrierSite, Loop, walk
from smem_lsp.rules.decision_words import bare
from smem_lsp.rules.elements import element, named, purpose_of, reference_of
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.model import (
    DataValue,
    Finding,
    InsertBarrier,
    KernelFinding,
    Note,
    Severity,
    Stand,
    placed,
)
from smem_lsp.rules.places import DOES, line_of, related, where
from smem_lsp.rules.unplaced import AT_END, why_no_place
from smem_lsp.rules.words import Words, said
from smem_lsp.source import Span, checkpoint, plural
from smem_lsp.source.regex import regex

_PLACE = regex(r"[\w.:>-]+")


def findings(facts: KernelFacts, code: str, severity: Severity) -> Iterator[KernelFinding]:
    """The races of a kernel that the rule ``code`` reports, one for each gap where a barrier is missing."""
    if not followed(facts):
        return
    # the condition of a loop is read in front of it and behind each iteration: one text
    told = set[tuple[object, int]]()
    for gap in facts.missing_barriers.across:
        checkpoint()
        races = [race for race in gap.races if _code(facts, race) == code]
        races = [race for race in races if (race.first.span, race.second.point) not in told]
        told.update((race.first.span, race.second.point) for race in races)
        if races:
            yield _finding(facts, gap, races, code, severity)


def followed(facts: KernelFacts) -> bool:
    """Is enough of the kernel understood to see every order between its threads? Calls that are not in sight order what
    they stand between, and nothing else."""
    kernel = facts.kernel
    return kernel.complete and not (facts.withheld or kernel.open(Opens.DECLARED))


def _finding(
    facts: KernelFacts, gap: MissingBarrier, races: Sequence[Race], code: str, severity: Severity
) -> KernelFinding:
    race = races[0]
    message = headline(race) + sentence(facts, race, back=gap.back)
    if race.named:
        message += ", and no barrier that both come to orders them"
    elif not alone(gap, race):
        message += said(f", with no barrier between them{more(races)}; ", _advice(facts, gap, race))
    grade = facts.graded(race, severity)
    return Finding(
        code,
        message + grade.words,
        where(facts, race.second),
        grade.severity,
        kernel=facts.kernel.name,
        buffers=tuple(dict.fromkeys(_called(facts, races))),
        verdict=grade.verdict,
        related=notes(facts, races),
        data=numbers(race),
        remedy=_remedy(facts, gap, race),
    )


def hazard(race: Race) -> str:
    """``read after write``: by what the second access does to the first, in program order."""
    if race.first.kind is AccessKind.READ:
        return "write after read"
    return "read after write" if race.second.kind is AccessKind.READ else "write after write"


def headline(race: Race) -> Words:
    """``data race (read after write): ``; nothing where a collective uses its storage."""
    if race.first.serves:
        return Words()
    itself = race.first.point == race.second.point and race.first.kind is AccessKind.UPDATE
    return said("data race: " if itself else f"data race ({hazard(race)}): ")


def more(races: Sequence[Race]) -> str:
    """`` (nor between 3 more pairs of accesses)`` that the same barrier would order."""
    left = len({frozenset((_stands(race.first), _stands(race.second))) for race in races}) - 1
    return f" (nor between {plural(left, 'more pair')} of accesses)" if left else ""


def _stands(access: Access) -> object:
    place = access.elsewhere
    return access.span or (None if place is None else (place.source.path, place.span)) or access.line


def sentence(facts: KernelFacts, race: Race, *, back: bool) -> Words:
    """Who does what: ``thread 0 writes `s[31]` (line 3), thread 32 reads it (line 4)``."""
    place = element(facts, race.first, race.byte)
    again = _again(facts, race) if back and race.first.point != race.second.point else Words()
    if race.first.serves:
        storage = named(facts, [facts.kernel.buffers[race.first.buffer]])
        return said(
            *(storage, " serves a collective of the block (", line_of(race.first)),
            *(") and another", again, " (", line_of(race.second), ")"),
        )
    if race.first.point == race.second.point and race.first.kind is AccessKind.WRITE:
        one, other = sorted(race.threads)
        both = f"threads {one} and {other} both write "
        return said(both, place, " (", line_of(race.first), "), not the same value")
    if race.first.point == race.second.point:
        one, other = sorted(race.threads)
        both = f"threads {one} and {other} both update "
        return said(both, place, " (", line_of(race.first), ") and no atomic is used")
    first, second = DOES[race.first.kind], DOES[race.second.kind]
    if race.data:  # the data decide which bytes one of the two touches
        first, second = "may " + first.removesuffix("s"), "may " + second.removesuffix("s")
    other_name = element(facts, race.second, race.byte)
    it = said("it") if other_name == place else said("it as ", other_name)
    return said(
        *(f"thread {race.threads[0]} {first} ", place, " (", line_of(race.first)),
        *(f"), thread {race.threads[1]} {second} ", it, again, " (", line_of(race.second), ")"),
    )


def _again(facts: KernelFacts, race: Race) -> Words:
    """`` in the next iteration of the loop in line 14``."""
    first, last = sorted((race.first.point, race.second.point))
    around = [
        node
        for node in walk(facts.kernel.body)
        if isinstance(node, Loop) and node.trips != 1 and node.point < first and last < node.end_point
    ]
    loop = around[-1] if around else None
    if loop is None or loop.span is None:
        return said(" in the next iteration")
    return said(" in the next iteration of the loop in line ", loop.line)


def alone(gap: MissingBarrier, race: Race) -> bool:
    """Does one statement meet itself, so that no barrier helps?"""
    return gap.place is None and race.first.point == race.second.point


def numbers(race: Race) -> dict[str, DataValue]:
    """The witness, for tools."""
    found: dict[str, DataValue] = {
        "hazard": hazard(race),
        "threads": " x ".join(map(str, race.dims)),
        "thread_first": race.threads[0],
        "thread_second": race.threads[1],
        "byte": race.byte,
    }
    return {**found, "condition": bare(race.condition)} if race.condition is not None else found


def sizes(witness: Witness) -> dict[str, DataValue]:
    """The parameters of a witness: ``{"sizes": "n = 33"}``."""
    found = [f"{name} = {number}" for name, number in sorted(witness.sizes.items()) if "." not in name]
    return {"sizes": ", ".join(found)} if found else {}


def notes(facts: KernelFacts, races: Sequence[Race]) -> tuple[Note[Stand], ...]:
    """The places of the accesses and of the calls that lead there, but the one that the finding stands at: those of the
    first race, then the others from top to bottom."""
    stands, (told, *others) = where(facts, races[0].second), races
    found = related(facts, stands, (told.first, told.second))
    known = {(note.span, note.source) for note in found}
    besides = related(facts, stands, (each for race in others for each in (race.first, race.second)))
    rest = [note for note in besides if (note.span, note.source) not in known]

    def below(note: Note[Stand]) -> tuple[str, Span]:
        return note.source.path if note.source else "", placed(note.span, facts.kernel, facts.source)

    return (*found, *sorted(rest, key=below))


def _advice(facts: KernelFacts, gap: MissingBarrier, race: Race) -> Words:
    place = place_of(facts, gap.place)
    if place is None:
        return why_no_place(facts, gap)
    if gap.back and place.at_end:
        return said(AT_END)
    return said("put one before line ", place.line)


def place_of(facts: KernelFacts, point: int | None) -> BarrierSite | None:
    """The place with that point."""
    nodes = (
        node for node in walk(facts.kernel.body) if isinstance(node, BarrierSite) and node.point == point
    )
    return next(nodes, None)


def _called(facts: KernelFacts, races: Sequence[Race]) -> Iterator[str]:
    """The buffers, by the names that the accesses go by where these are references."""
    for race in races:
        for access in (race.first, race.second):
            named = reference_of(facts, access)
            yield facts.kernel.buffers[access.buffer].name if named is None else named.text


def _remedy(facts: KernelFacts, gap: MissingBarrier, race: Race) -> InsertBarrier | None:
    if gap.place is None:
        return None
    named = reference_of(facts, race.first)
    name = facts.kernel.buffers[race.first.buffer].name if named is None else named.text
    if race.first.serves:
        reason = f"every thread must be done with {name}"
    elif race.first.kind is AccessKind.READ:
        reason = f"every warp must be done reading {name}"
    elif race.second.kind is AccessKind.READ:
        reason = f"every warp must have written {name}"
    else:
        reason = f"every warp must be done writing {name}"
    return InsertBarrier(facts.index, gap.place, reason, race.proved)


def _code(facts: KernelFacts, race: Race) -> str:
    """SMEM202 when the same bytes serve two purposes, or have two names: members of a union, parts carved out of one
    block."""
    buffer = facts.kernel.buffers[race.first.buffer]
    if race.first.buffer != race.second.buffer or race.first.serves:
        return "SMEM202"
    purposes = {purpose_of(facts, access) for access in (race.first, race.second)}
    if None not in purposes:
        return "SMEM202" if len(purposes) > 1 else "SMEM201"
    names = [_name(facts, access) for access in (race.first, race.second)]
    several = buffer.record or buffer.space is AddressSpace.DYNAMIC
    return "SMEM202" if several and None not in names and names[0] != names[1] else "SMEM201"


def _name(facts: KernelFacts, access: Access) -> str | None:
    if access.span is None:
        return None
    found = _PLACE.match(facts.text(access.span))
    return found[0] if found else None
