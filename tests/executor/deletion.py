"""Every barrier of a kernel taken away, one at a time: what we say of it against what the runs show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from smem_lsp.engine import check
from smem_lsp.ir.nodes import Barrier, BarrierKind, walk

from .model import Outcome, Source
from .programs import build_what_compiles
from .rewriting import differences, outcomes

RACES = ("SMEM201", "SMEM202", "SMEM205", "SMEM206")
_PER_UNIT = 60
_FILL = "2654435761u"  # a program's inputs are a hash with this factor
_FACTORS = (2654435761, 2246822519, 3266489917, 668265263, 374761393, 2654435769, 1597334677, 3812015801)


@dataclass(frozen=True)
class Deletion:
    """One barrier of a kernel gone. ``redundant``: SMEM204 is reported for it; ``merging``: it is not, because it lets
    buffers share bytes; ``reported``: a race is, without it; ``misplaced``: SMEM203 is, so that nothing is said of
    races behind."""

    kernel: str
    line: int
    source: Source
    redundant: bool
    merging: bool
    reported: bool
    misplaced: bool


@dataclass
class Tally:
    """``racy``, ``harmless``: deletions that the runs show to be so; of those ``found``, those that we reported racy,
    and of the harmless ones ``told``, those that are SMEM204; ``merging``: harmless too, but a merge needs them.
    ``false_races``, ``false_redundant``: what we said and no run shows, or a run shows to be wrong."""

    deletions: int = 0
    racy: int = 0
    found: int = 0
    harmless: int = 0
    told: int = 0
    merging: int = 0
    missed: list[str] = field(default_factory=list)
    untold: list[str] = field(default_factory=list)
    false_races: list[str] = field(default_factory=list)
    false_redundant: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        for name in self.__dataclass_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


def deletions(source: Source) -> Iterator[Deletion]:
    """All of a kernel that is right as it stands."""
    report = check(source.text)
    codes = {finding.code for finding in report.findings}
    if codes & set(RACES):
        return
    redundant = {finding.span.start for finding in report.findings if finding.code == "SMEM204"}
    seen: set[int] = set()
    for kernel, facts in zip(report.kernels, report.facts):
        merging = {found.barrier.point for found in facts.redundant if found.merging}
        for node in walk(kernel.kernel.body):
            if (
                not isinstance(node, Barrier)
                or node.kind is not BarrierKind.BLOCK
                or node.span is None
                or (span := facts.span(node.span)).start in seen
            ):
                continue
            seen.add(span.start)
            text = source.text[: span.start] + source.text[span.end :]
            if "".join(source.text[span.start : span.end].split()).rstrip(";") != "__syncthreads()":
                continue
            after = {finding.code for finding in check(text).findings}
            name = f"{source.name} without {facts.line(node.line)}"
            yield Deletion(
                source.name,
                facts.line(node.line),
                replace(source, name=name, text=text),
                span.start in redundant,
                node.point in merging,
                bool(after & set(RACES)),
                "SMEM203" in after,
            )


def survivors(sources: Sequence[Source], seeds: Sequence[int], inputs: int) -> tuple[int, list[str]]:
    """How many barriers of ``sources`` are SMEM204, and those without which a run complains or gives other bytes: each
    is run with ``inputs`` different data, up to ``len(_FACTORS)``, under all ``seeds``."""
    told = [each for source in sources for each in deletions(source) if each.redundant]
    kept = {source.name: source for source in sources}
    wrong: list[str] = []
    for factor in _FACTORS[:inputs]:
        pairs = [(_filled(kept[each.kernel], factor), _filled(each.source, factor)) for each in told]
        befores = {before.name: before for before, _ in pairs}
        programs, refused = build_what_compiles([*befores.values(), *(after for _, after in pairs)])
        with programs:
            found = outcomes(programs, [name for name in befores if name not in refused], [0])
            names = [after.name for _, after in pairs if after.name not in refused]
            found = {**found, **outcomes(programs, names, seeds)}
        for before, after in pairs:
            if before.name in refused or after.name in refused:
                wrong.append(f"{after.name}: not built")
            elif said := differences(found[before.name], found[after.name]):
                wrong.append(f"{after.name}, factor {factor}: {said}")
    return len(told), wrong


def _filled(source: Source, factor: int) -> Source:
    return replace(source, text=source.text.replace(_FILL, f"{factor}u"))


def judge(sources: Sequence[Source], seeds: Sequence[int]) -> Tally:
    """Count over all barriers of ``sources``, each deletion under all ``seeds``."""
    tally = Tally()
    for start in range(0, len(sources), _PER_UNIT):
        tally.add(_judge(sources[start : start + _PER_UNIT], seeds))
    return tally


def _judge(sources: Sequence[Source], seeds: Sequence[int]) -> Tally:
    tally = Tally()
    every = [each for source in sources for each in deletions(source)]
    programs, refused = build_what_compiles([*sources, *(each.source for each in every)])
    with programs:
        names = [s.name for s in (*sources, *(each.source for each in every)) if s.name not in refused]
        found = outcomes(programs, names, seeds)
    for each in every:
        if each.kernel not in found or each.source.name not in found:
            continue
        before, after = found[each.kernel], found[each.source.name]
        if not all(outcome.clean for outcome in before):
            continue
        _count(tally, each, before, after)
    return tally


def _count(tally: Tally, each: Deletion, before: Sequence[Outcome], after: Sequence[Outcome]) -> None:
    tally.deletions += 1
    racy = any(outcome.races for outcome in after)
    same = all(outcome.clean for outcome in after) and {str(o.buffers) for o in after} == {
        str(o.buffers) for o in before
    }
    name = each.source.name
    if racy and not each.misplaced:
        tally.racy += 1
        tally.found += each.reported
        if not each.reported:
            tally.missed.append(name)
    if each.reported and not racy:
        tally.false_races.append(name)
    if same and each.merging:
        tally.merging += 1
    elif same:
        tally.harmless += 1
        tally.told += each.redundant
        if not each.redundant:
            tally.untold.append(name)
    elif each.redundant:
        tally.false_redundant.append(name)
