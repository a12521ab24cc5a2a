"""Ranges of dynamic shared memory that share bytes: pointers that start elsewhere, and launches that pass fewer bytes.

Nothing but the initializers of the moved pointers changes in the kernel. Whoever offers the fix checks the edited text
again: a pointer that was counted from a moved one has moved too.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from smem_lsp.allocation.plan import Item, Plan, align_up
from smem_lsp.allocation.validate import validate
from smem_lsp.facts.layouts import LayoutCandidate
from smem_lsp.facts.partition import PartitionLayouts
from smem_lsp.fixes.barriers import insert_barriers
from smem_lsp.fixes.cure import CheckedKernel, Cure, conditional_words
from smem_lsp.fixes.declarations import Refused
from smem_lsp.fixes.launches import fewer_bytes
from smem_lsp.fixes.local_pointers import names_in, require_aliases
from smem_lsp.fixes.model import Fix, Safety, Title
from smem_lsp.fixes.moved_pointers import moved_pointers, pointers_of
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.merging import merged_buffers
from smem_lsp.rules.model import MoveRanges
from smem_lsp.source import TextEdit, checkpoint, plural
from smem_lsp.source.record import dataclass
from smem_lsp.syntax.parse import TranslationUnit

MOST_RANGES = 8  # with more of them not every set of moves is tried


def _fix(remedy: MoveRanges, at: CheckedKernel) -> Fix:
    """For one of the best plans; it has to fit the other instances of a template as well."""
    facts, unit = at.facts, at.unit
    if facts.kernel.more_instances:
        raise Refused(f"other instances of the template carve it as well: {facts.kernel.more_instances}")
    found = _moved(facts, unit, remedy.number)
    launches = list(facts.kernel.launches)
    for other in at.siblings:
        if not _saves(other, remedy.number) or _moved(other, unit, remedy.number).edits != found.edits:
            raise Refused(f"{other.kernel.instance} has other ranges than {facts.kernel.instance}")
        launches += other.kernel.launches
    saved = found.before - found.after
    for launch in launches:
        if launch.dynamic_bytes is not None and launch.dynamic_bytes < found.before:
            raise Refused(
                f"the launch at {launch.place} passes {launch.dynamic_bytes:,} B, fewer than the "
                f"{found.before:,} B that the ranges may reach"
            )
    passed = fewer_bytes(unit, facts.kernel.name, launches, saved)
    assumptions = facts.told(facts.assumptions(found.candidate, of_instance=False))
    constants = sorted(found.constants | passed.constants)
    if constants:
        assumptions.append(
            f"right for what {', '.join(constants)} {'is' if len(constants) == 1 else 'are'} now"
        )
    assumptions += conditional_words(facts, unit.source)
    if not launches:
        assumptions.append(
            f"nothing is saved until the launches, which are not in this file, pass {found.after:,} B"
        )
    assumptions += [*passed.assumed, *passed.still]
    added, cost = len(found.candidate.plan.barriers), found.candidate.plan.cost
    if cost > added:
        assumptions.append(f"a barrier inside a loop: {cost} executions per block")
    title = Title(
        found.what,
        f"{found.before:,} → {found.after:,} B",
        " of dynamic shared memory",
        f", {plural(added, 'barrier')} added" if added else "",
        tuple(map(str, assumptions)),
    )
    edits = tuple(sorted({*found.edits, *passed.edits}))
    return Fix(title, Safety.UNSAFE if assumptions else Safety.SAFE, edits)


@dataclass(frozen=True, slots=True)
class _Moved:
    """Pointers that start elsewhere. ``before`` and ``after``: bytes of all ranges; ``constants``: what the pointers
    are counted with."""

    what: str
    candidate: LayoutCandidate
    before: int
    after: int
    edits: tuple[TextEdit, ...]
    constants: frozenset[str]


def _saves(facts: KernelFacts, number: int) -> bool:
    divided = facts.dynamic_partition
    if divided is None or number >= len(divided.best):
        return False
    return divided.best[number].plan.bytes < divided.declared.bytes


def _moved(facts: KernelFacts, unit: TranslationUnit, number: int) -> _Moved:
    kernel, divided, ranges, source = facts.kernel, facts.dynamic_partition, facts.of_ranges, unit.source
    assert divided is not None and ranges is not None
    base, pointers = kernel.buffers[divided.partition.base], pointers_of(kernel, unit)
    candidate = divided.best[number]
    plan = _fewest_moves(divided, candidate, ranges)
    edits = moved_pointers(kernel, unit, base, divided.partition.ranges, plan.offsets)
    moved = [each.name for each in divided.partition.ranges if plan.offsets[each.index] != each.offset]
    words: set[str] = set()
    for each in divided.partition.ranges:
        if each.name in pointers:
            words |= names_in(pointers[each.name], source)
    what = f"Move {', '.join(moved)} in {base.name}"
    constants = frozenset(words - pointers.keys() - {base.name})
    sharing = merged_buffers(ranges, candidate.plan)
    require_aliases(pointers[each.name] for each in sharing if each.name in pointers)
    edits += insert_barriers(ranges.kernel, source, candidate.plan.barriers, [sharing])
    return _Moved(what, candidate, divided.declared.bytes, plan.bytes, tuple(edits), constants)


def _fewest_moves(divided: PartitionLayouts, candidate: LayoutCandidate, ranges: KernelFacts) -> Plan:
    """A layout with the bytes of the plan that moves as few ranges as possible."""
    items = divided.items
    if len(items) > MOST_RANGES:
        return candidate.plan
    for count in range(len(items) - 1, -1, -1):
        checkpoint()
        for kept in combinations(items, count):
            offsets = _placed_around(kept, divided, candidate)
            if offsets is None:
                continue
            found = Plan("rewrite", candidate.plan.bytes, offsets, barriers=candidate.plan.barriers)
            if not validate(items, found, ranges.kernel.body, candidate.facts, frozenset()):
                return found
    return candidate.plan


def _placed_around(
    kept: Sequence[Item], divided: PartitionLayouts, candidate: LayoutCandidate
) -> dict[int, int] | None:
    """Offsets that leave ``kept`` in place and put each of the others, large ones first, where it first fits."""
    apart, most = candidate.conflicts.every, candidate.plan.bytes
    sizes = {item.index: item.size for item in divided.items}
    offsets: dict[int, int] = {}

    def free(item: Item, at: int) -> bool:
        return at + item.size <= most and not any(
            at < start + sizes[other] and start < at + item.size
            for other, start in offsets.items()
            if frozenset((item.index, other)) in apart
        )

    for item in (*kept, *sorted((i for i in divided.items if i not in kept), key=lambda each: -each.size)):
        checkpoint()
        starts = {0, *offsets.values(), *(start + sizes[other] for other, start in offsets.items())}
        if item in kept:
            starts = {divided.declared.offsets[item.index]}
        place = next((at for at in sorted(align_up(s, item.align) for s in starts) if free(item, at)), None)
        if place is None:
            return None
        offsets[item.index] = place
    return offsets


CURE = Cure(MoveRanges, lambda remedy, kernel: "move ranges of dynamic shared memory", _fix, compiled=True)
