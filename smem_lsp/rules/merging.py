"""What a merge plan is worth, and how to say it: shared by SMEM301 and SMEM302."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from smem_lsp.allocation.overlaps import Overlaps
from smem_lsp.allocation.plan import Plan
from smem_lsp.analysis.dataflow.conflicts import pair
from smem_lsp.facts.layouts import LayoutCandidate
from smem_lsp.facts.occupied import Occupied
from smem_lsp.ir.nodes import Access, Barrier, Buffer, walk
from smem_lsp.rules.elements import named, shares_its_name
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.model import DataValue, Note, Stand
from smem_lsp.rules.words import Words, said
from smem_lsp.source.record import dataclass


@dataclass(frozen=True, slots=True)
class OccupancyStep:
    """Resident blocks/SM on one target, before and after."""

    row: Occupied
    before: int
    after: int

    def words(self) -> str:
        dynamic = self.row.dynamic_words
        if self.row.registers is None:
            return (
                f"{self.before} → ≤ {self.after} blocks/SM on {self.row.arch} (shared memory alone{dynamic})"
            )
        blocks = f"{self.before} → {self.after} blocks/SM on {self.row.arch}"
        return f"{blocks} ({dynamic.removeprefix(', ')})" if dynamic else blocks

    def with_launch(self) -> str:
        """For titles: what the number was computed with."""
        known = self.row.registers is not None
        registers = f"{self.row.registers} registers" if known else "shared memory alone"
        launch = (
            f"blocks/SM ({self.row.arch}, {self.row.threads} threads, {registers}{self.row.dynamic_words})"
        )
        most = "" if known else "≤ "
        if self.before == self.after:
            return f"same {most}{self.after} {launch}"
        return f"{self.before} → {most}{self.after} {launch}"


def best_step(facts: KernelFacts, before: int, after: int) -> OccupancyStep | None:
    """The target that gains resident blocks, or the first one; None when the threads are not known. Bytes."""
    steps = [
        OccupancyStep(row, facts.blocks(row, before), facts.blocks(row, after)) for row in facts.occupied
    ]
    return next((step for step in steps if step.after > step.before), steps[0] if steps else None)


def step_of_ranges(facts: KernelFacts, saved: int, without: int = 0) -> OccupancyStep | None:
    """The first target that gains resident blocks when every launch passes ``saved`` bytes fewer, over what ``without``
    bytes fewer give it."""
    static = facts.static_bytes
    for row in facts.occupied:
        if static is None or row.dynamic_bytes < saved:
            continue
        less, before = (replace(row, dynamic_bytes=row.dynamic_bytes - each) for each in (saved, without))
        if facts.blocks(less, static) > facts.blocks(before, static):
            return OccupancyStep(row, facts.blocks(row, static), facts.blocks(less, static))
    return None


def crosses_limit(facts: KernelFacts, before: int, after: int) -> bool:
    """Does ptxas accept the kernel only after the merge?"""
    return facts.kernel.dialect.nvidia and before > facts.static_limit >= after


def merged_buffers(facts: KernelFacts, plan: Plan) -> list[Buffer]:
    """Buffers that share bytes with another one in the plan, in source order."""
    indices = [item.index for item in facts.items]
    overlaps = Overlaps([plan.offsets[index] for index in indices], [item.size for item in facts.items])
    sharing = [index for at, index in enumerate(indices) if overlaps.of(at) & ~(1 << at)]
    return sorted((facts.kernel.buffers[i] for i in sharing), key=lambda b: b.declared)


def overlap(facts: KernelFacts, plan: Plan, a: int, b: int) -> bool:
    """Do two buffers share at least one byte in the plan?"""
    one, other = (facts.kernel.buffers[index].bytes or 0 for index in (a, b))
    return plan.offsets[a] < plan.offsets[b] + other and plan.offsets[b] < plan.offsets[a] + one


def partners(facts: KernelFacts, plan: Plan, buffer: Buffer, among: Iterable[Buffer]) -> list[Buffer]:
    return [b for b in among if b.index != buffer.index and overlap(facts, plan, buffer.index, b.index)]


def why_free(facts: KernelFacts, candidate: LayoutCandidate, buffer: Buffer, others: list[Buffer]) -> Words:
    """Why ``buffer`` may use the bytes of ``others``, in words."""
    if all(pair(buffer.index, other.index) in candidate.conflicts.equal for other in others):
        return said("each thread uses only its own elements")
    first, _ = reach(facts, buffer)
    dead = max(reach(facts, other)[1] for other in others)
    if dead >= first:
        return said("never live at the same time")
    barriers = [n for n in walk(facts.kernel.body) if isinstance(n, Barrier) and dead < n.point < first]
    proved = [n for n in barriers if n.point in candidate.facts.barriers]
    if proved:
        return said("dead after the barrier at line ", proved[0].line)
    if candidate.plan.barriers:
        return said("dead by then, with the added barrier")
    return said("never used in the same run")


def reach(facts: KernelFacts, buffer: Buffer) -> tuple[int, int]:
    """Points of the first and last access in program order."""
    points = [n.point for n in walk(facts.kernel.body) if isinstance(n, Access) and n.buffer == buffer.index]
    return (points[0], points[-1]) if points else (0, 0)


def names(buffers: Iterable[Buffer]) -> str:
    return ", ".join(f"`{buffer.name}`" for buffer in buffers)


def titled(facts: KernelFacts, buffers: Iterable[Buffer]) -> str:
    """The same for the title of a fix, which is made anew for each text: "buf (line 12), buf (line 40)"."""
    return ", ".join(
        f"{buffer.name} (line {facts.source.line_number(facts.span(buffer.declared).start)})"
        if shares_its_name(facts, buffer)
        else buffer.name
        for buffer in buffers
    )


def headline(facts: KernelFacts, candidate: LayoutCandidate, merged: list[Buffer]) -> Words:
    """ "`Cs` can reuse `As`, `Bs`"."""
    last = merged[-1]
    others = partners(facts, candidate.plan, last, merged)
    rest = [b for b in merged[:-1] if b not in others]
    more = said("; ", named(facts, rest), f" share{'s' if len(rest) == 1 else ''} too") if rest else said()
    return said(named(facts, [last]), " can reuse ", named(facts, others), more)


def reason(facts: KernelFacts, candidate: LayoutCandidate, merged: list[Buffer]) -> Words:
    """ "dead after the barrier at line 24": it stands behind the numbers, which matter more."""
    others = partners(facts, candidate.plan, merged[-1], merged)
    return why_free(facts, candidate, merged[-1], others)


def _others(buffer: Buffer, others: Sequence[Buffer]) -> str:
    """Those of its own name are counted: a note has no lines to tell them apart."""
    alike = sum(other.name == buffer.name for other in others)
    told = [names(other for other in others if other.name != buffer.name)]
    told.append(f"another `{buffer.name}`" if alike == 1 else f"{alike} others of its name" if alike else "")
    return ", ".join(filter(None, told))


def related_notes(
    candidate: LayoutCandidate, merged: list[Buffer], facts: KernelFacts
) -> tuple[Note[Stand], ...]:
    """The other merged buffers, and with whom each would share."""
    return tuple(
        Note(
            b.declared,
            f"`{b.name}` would share its bytes with {_others(b, partners(facts, candidate.plan, b, merged))}",
        )
        for b in merged[:-1]
    )


def data_of(facts: KernelFacts, plan: Plan, step: OccupancyStep | None) -> dict[str, DataValue]:
    """The numbers behind the message."""
    assert facts.declared is not None
    before, after = facts.total(facts.declared.bytes), facts.total(plan.bytes)
    return {
        "bytes_before": before,
        "bytes_after": after,
        "bytes_saved": before - after,
        "barriers_added": len(plan.barriers),
        "arch": step.row.arch if step else None,
        "blocks_before": step.before if step else None,
        "blocks_after": step.after if step else None,
    }


def data_of_ranges(before: int, plan: Plan, after: int, step: OccupancyStep | None) -> dict[str, DataValue]:
    """The same for a part of the kernel's bytes that goes from ``before`` to ``after``."""
    return {
        "bytes_before": before,
        "bytes_after": after,
        "bytes_saved": before - after,
        "barriers_added": len(plan.barriers),
        "arch": step.row.arch if step else None,
        "blocks_before": step.before if step else None,
        "blocks_after": step.after if step else None,
    }


def assumption_words(facts: KernelFacts, candidate: LayoutCandidate) -> Words:
    return said(*(said("; ", words) for words in facts.assumptions(candidate)))
