"""Titles of the light bulb: what counts, first, in the width that a menu shows. The whole of it is in the preview."""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.fixes.model import Fix, Safety
from smem_lsp.ir.nodes import AddressSpace
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.merging import merged_buffers, titled
from smem_lsp.rules.model import Finding, InsertBarrier, MergeBuffers, MoveRanges, MoveTermRanges, Unmerge
from smem_lsp.server.amounts import ruling_row
from smem_lsp.source import plural

LONGEST = 60  # characters of a title
_ASSUMING = ", on assumptions"


def fix_title(fix: Fix, finding: Finding, facts: KernelFacts) -> str:
    """``Merge coarse + fine: −7,168 B, 6 → 8 blocks``. What a fix rests on is named where there is room."""
    remedy = finding.remedy
    doubt = _ASSUMING if fix.safety is Safety.UNSAFE else ""
    match remedy:
        case MergeBuffers():
            barriers = len(remedy.candidate.plan.barriers)
            price = f", {plural(barriers, 'barrier')} more" if barriers else ""
            price += ", 1 wait more" if remedy.waits else ""
            end = f": {_saved(facts, fix)}{price}{doubt}"
            return f"Merge {_names(_merged(facts, remedy), LONGEST - len('Merge ') - len(end))}{end}"
        case Unmerge() if facts.kernel.buffers[remedy.buffer].space is AddressSpace.DYNAMIC:
            return _clipped(fix.words.main, doubt)
        case Unmerge():
            end = f": {_saved(facts, fix)}{doubt}"
            divided = next(each for each in facts.class_partitions if each.partition.base == remedy.buffer)
            purposes = [each.name for each in divided.partition.ranges]
            return f"Unmerge {_names(purposes, LONGEST - len('Unmerge ') - len(end))}{end}"
        case MoveRanges() if facts.dynamic_partition is not None:
            divided = facts.dynamic_partition
            plan = divided.best[remedy.number].plan
            saved = divided.declared.bytes - plan.bytes
            price = f", {plural(len(plan.barriers), 'barrier')} more" if plan.barriers else ""
            return _clipped(f"Move ranges of {_dynamic(facts)}: −{saved:,} B{price}", doubt)
        case MoveTermRanges():
            words = facts.term_plans[remedy.number].words
            return _clipped(f"Move ranges of {_dynamic(facts)}: {words}", doubt)
        case InsertBarrier():
            return _clipped(fix.words.main, doubt)
        case _:
            return _clipped(fix.words.brief(LONGEST), doubt)


def merge_words(facts: KernelFacts, finding: Finding) -> str:
    """What an entry is called that cannot be applied: its reason stands beside it."""
    remedy = finding.remedy
    if isinstance(remedy, MergeBuffers):
        return f"Merge {_names(_merged(facts, remedy), LONGEST - len('Merge '))}"
    names = f": {_names(finding.buffers, LONGEST - 14)}" if finding.buffers else ""
    return f"Fix {finding.code}{names}"


def _merged(facts: KernelFacts, remedy: MergeBuffers) -> list[str]:
    return [titled(facts, (each,)) for each in merged_buffers(facts, remedy.candidate.plan)]


def _dynamic(facts: KernelFacts) -> str:
    return next((b.name for b in facts.kernel.buffers if b.space is AddressSpace.DYNAMIC), "the bytes")


def _saved(facts: KernelFacts, fix: Fix) -> str:
    """``−7,168 B, 6 → 8 blocks``; the blocks are those of the target that lens and hover speak of."""
    before, after = facts.static_bytes, fix.static_bytes
    if before is None or after is None:
        return "bytes not known"
    sign = "−" if after <= before else "+"
    words = f"{sign}{abs(before - after):,} B"
    row = ruling_row(facts)
    if row is None:
        return words
    now, then = facts.blocks(row, before), facts.blocks(row, after)
    most = "" if row.registers is not None else "≤ "
    return words if now == then else f"{words}, {now} → {most}{plural(then, 'block')}"


def _names(names: Sequence[str], room: int) -> str:
    """``a + b + c``; as many as there is room for, and how many more there are."""
    for shown in range(len(names), 0, -1):
        rest = len(names) - shown
        text = " + ".join((*names[:shown], *([f"{rest} more"] if rest else ())))
        if len(text) <= room:
            return text
    if len(names) == 1:
        return f"{names[0][: max(room - 1, 1)]}…"
    return plural(len(names), "buffer")


def _clipped(title: str, doubt: str) -> str:
    """At most as long as a title may be, cut behind a word; with the doubt where there is room for it."""
    if len(title) > LONGEST:
        title = title[: LONGEST - 1].rpartition(" ")[0].rstrip(" ,;:") + "…"
    return title + doubt if len(title + doubt) <= LONGEST else title
