"""A fix is looked at again before it is offered: by what a compiler says of it, or by another check of its text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise

from smem_lsp.allocation.plan import Plan
from smem_lsp.allocation.validate import validate
from smem_lsp.analysis.banks.rows import in_rows
from smem_lsp.analysis.storage.dynamic_ranges import Partition, partition_of
from smem_lsp.analysis.values.sums import sum_of, text_of
from smem_lsp.engine.measured import Measured, broken_promise, is_covered, lost
from smem_lsp.engine.report import FileReport
from smem_lsp.facts.partition import PartitionLayouts
from smem_lsp.fixes.model import Fix, cannot
from smem_lsp.fixes.registry import CURES
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.model import (
    Finding,
    MergeBuffers,
    MoveRanges,
    MoveTermRanges,
    PadRows,
    Remedy,
    Severity,
    Unmerge,
)
from smem_lsp.source import apply_edits
from smem_lsp.terms.polynomial import added

_CORRECTNESS = ("SMEM1", "SMEM2")  # other findings may follow from what was improved: the next step of a plan


def is_compiled(remedy: Remedy | None) -> bool:
    """Has a compiler a say in it?"""
    cure = CURES.get(type(remedy)) if remedy is not None else None
    return cure is not None and cure.compiled


def is_checked(remedy: Remedy | None) -> bool:
    """Is a fix of it offered only after a check of the text that it makes?"""
    match remedy:
        case MoveRanges() | MoveTermRanges() | Unmerge() | PadRows():
            return True
        case MergeBuffers():
            return remedy.waits
        case _:
            return False


def as_compiled(fix: Fix, finding: Finding, report: FileReport, measured: Measured) -> Fix:
    """A rewrite that a compiler has shown to cost a resident block, spills or other bytes than were promised is
    withdrawn; where none has confirmed it, the title says so."""
    remedy = finding.remedy
    if not fix.edits or remedy is None or not is_compiled(remedy):
        return fix
    instances = _instances(report, report.facts[remedy.kernel])
    after = measured.rewritten(apply_edits(report.source.text, fix.edits))
    for facts in instances if after else ():
        promised = fix.static_bytes if facts.index == remedy.kernel else None
        broken = broken_promise(facts, after, promised)
        why = lost(facts, after) or broken
        if why is not None:
            return replace(_withdrawn(fix, why), broken=broken)
    if after and all(is_covered(facts, after) for facts in instances):
        return fix
    return replace(fix, words=replace(fix.words, assumed=(*fix.words.assumed, "unconfirmed")))


def as_planned(fix: Fix, finding: Finding, report: FileReport, again: Callable[[str], FileReport]) -> Fix:
    """A fix that moves ranges, pads rows, takes arrays apart or adds a wait, if another check finds every instance of
    the kernel as it was planned, and nothing new wrong; other fixes as they are."""
    remedy = finding.remedy
    codes: tuple[str, ...] = _CORRECTNESS
    match remedy:
        case MoveRanges():
            wrong: Callable[[KernelFacts, KernelFacts | None], str | None] = partial(
                _misplaced_ranges, remedy
            )
        case MoveTermRanges():
            wrong = partial(_misplaced_in_terms, remedy)
        case MergeBuffers(waits=True):
            wrong = _copies_left
        case Unmerge() if report.facts[remedy.kernel].term_purposes is not None:
            wrong = _unmoved_in_terms
        case Unmerge():
            wrong = partial(_other_bytes, fix)
        case PadRows():
            wrong, codes = partial(_misplaced_rows, remedy), (*_CORRECTNESS, "SMEM4", "SMEM5")
        case _:
            return fix
    if not fix.edits:
        return fix
    after = again(apply_edits(report.source.text, fix.edits))
    if after.cut:
        return _withdrawn(fix, f"its text could not be checked ({after.cut[0].words})")
    for facts in _instances(report, report.facts[remedy.kernel]):
        why = wrong(facts, _counterpart(after, facts))
        if why is not None:
            return _withdrawn(fix, why)
    new = new_findings(report, after, finding, codes)
    return _withdrawn(fix, new[0]) if new else fix


def _misplaced_ranges(remedy: MoveRanges, facts: KernelFacts, now: KernelFacts | None) -> str | None:
    """Is every access where a valid layout of the bytes that were promised has its range? A pointer that is counted
    from a moved one moves with it."""
    found = None
    if now is not None and facts.dynamic_partition is not None:
        flow, before = now.analysis.flow, facts.dynamic_partition.partition
        found = _ranges_after(before, partition_of(flow.kernel, flow.values, flow.shape, before.most))
    plan = None if facts.dynamic_partition is None else facts.dynamic_partition.best[remedy.number].plan
    if found is None or plan is None or found.bytes != plan.bytes or not _valid(facts, found, remedy.number):
        return "other pointers are counted from where they point now"
    return None


def _misplaced_in_terms(remedy: MoveTermRanges, facts: KernelFacts, now: KernelFacts | None) -> str | None:
    """Does the pointer of every access begin where the plan has its range, and does every launch pass as many bytes
    less as that takes away, or none, as far as it is told in words of the kernel?"""
    plan = facts.term_plans[remedy.number]
    after = None if now is None else now.dynamic_terms
    if now is None or after is None:
        return "where its pointers begin would not be known"
    old, new = (sorted(found.starts.items()) for found in (plan.partition, after.partition))
    if len(old) != len(new):
        return "other pointers are counted from where they point now"
    for (point, (_, start)), (_, (_, start_now)) in zip(old, new):
        if added(start_now, start, -1) != plan.shifts[plan.partition.of[point]]:
            return "other pointers are counted from where they point now"
    for one, other in zip(facts.kernel.launches, now.kernel.launches):
        before, passed = (
            None if site.dynamic is None else sum_of(site.dynamic.value, {}) for site in (one, other)
        )
        if (
            before is None
            or passed is None
            or not set(plan.symbols) <= {text_of(s) for p in before for s in p}
        ):
            continue  # not said in the words of the kernel
        if before != passed and added(before, passed, -1) != plan.saved:
            return f"the launch at {one.place} would pass other bytes"
    return None


def _unmoved_in_terms(facts: KernelFacts, now: KernelFacts | None) -> str | None:
    """Does the pointer of every access begin where its purpose has its bytes, and does every launch pass them all?"""
    purposes, after = facts.term_purposes, None if now is None else now.dynamic_terms
    if purposes is None or now is None or after is None:
        return "where its pointers begin would not be known"
    old, new = (sorted(found.starts.items()) for found in (purposes.partition, after.partition))
    if len(old) != len(new):
        return "other pointers are counted from where they point now"
    through = purposes.partition.through
    for (point, (_, start)), (_, (_, start_now)) in zip(old, new):
        if start_now != purposes.begins.get(through[point], start):
            return "other pointers are counted from where they point now"
    wanted = added(purposes.passed, purposes.more)
    for site in now.kernel.launches:
        if site.dynamic is None or sum_of(site.dynamic.value, {}) != wanted:
            return f"the launch at {site.place} would pass other bytes"
    return None


def _copies_left(facts: KernelFacts, now: KernelFacts | None) -> str | None:
    """Is a copy in flight after the wait that was added?"""
    if now is None or now.kernel.drained is not None or now.static_bytes is None:
        return "a copy may still be in flight"
    return None


def _other_bytes(fix: Fix, facts: KernelFacts, now: KernelFacts | None) -> str | None:
    """Has the kernel the bytes that were promised, and does nothing take turns in them any more?"""
    turns = facts.dynamic_purposes
    if fix.static_bytes is None and turns is not None:
        return _still_in_turns(turns, now)
    if now is None or now.static_bytes is None:
        return "its bytes would not be known"
    if facts.kernel.siblings == 0 and now.static_bytes != fix.static_bytes:
        return f"it would have {now.static_bytes:,} B"
    return None


def _still_in_turns(turns: PartitionLayouts, now: KernelFacts | None) -> str | None:
    """Is every purpose whole at a place of its own?"""
    found = None
    if now is not None and now.analysis.dynamic_partition is not None:
        found = _moves(turns.partition, now.analysis.dynamic_partition.partition)
    if found is None:
        return "where its pointers begin would not be known"
    ranges = sorted((each.offset + found[each.index], each.size) for each in turns.partition.ranges)
    if any(start + size > following for (start, size), (following, _) in pairwise(ranges)):
        return "two of its purposes would still have bytes in common"
    return None


def _ranges_after(before: Partition, after: object) -> Plan | None:
    """Where the ranges are in the edited text, by the bytes that its accesses reach; None: they fell apart."""
    shifts = _moves(before, after) if isinstance(after, Partition) else None
    if shifts is None:
        return None
    offsets = {each.index: each.offset + shifts[each.index] for each in before.ranges}
    end = max(offsets[each.index] + each.size for each in before.ranges)
    return Plan("rewrite", end, offsets)


def _moves(before: Partition, after: Partition) -> dict[int, int] | None:
    """By range: how many bytes further its accesses are in the edited text; None: not all of them move alike."""
    old, new = (sorted(divided.reached.items()) for divided in (before, after))
    if len(old) != len(new):
        return None
    shifts: dict[int, set[int]] = {each.index: set() for each in before.ranges}
    for (point, (low, high)), (_, (low_now, high_now)) in zip(old, new):
        if high - low != high_now - low_now:
            return None
        shifts[before.of[point]].add(low_now - low)
    if any(len(found) != 1 for found in shifts.values()):
        return None
    return {index: found.pop() for index, found in shifts.items()}


def _valid(facts: KernelFacts, plan: Plan, number: int) -> bool:
    ranges, divided = facts.of_ranges, facts.dynamic_partition
    assert ranges is not None and divided is not None
    of = divided.best[number]
    plan = replace(plan, barriers=of.plan.barriers)
    return not validate(divided.items, plan, ranges.kernel.body, of.facts, frozenset())


def _misplaced_rows(remedy: PadRows, facts: KernelFacts, now: KernelFacts | None) -> str | None:
    """Is every access at the same place of the same row, and no conflict of the buffer left?"""
    buffer = facts.kernel.buffers[remedy.buffer].name
    counted = "other code counts" if now is None else _counts_rows(facts, now, remedy)
    if now is None or counted is not None:
        return f"{counted} with the length of the rows of `{buffer}`"
    name = now.kernel.buffers[remedy.buffer].name
    left = next((c for c in now.banks if now.kernel.buffers[c.buffer].name == name), None)
    return None if left is None else f"an access to `{name}` would still take {left.wavefronts} wavefronts"


def _instances(report: FileReport, facts: KernelFacts) -> list[KernelFacts]:
    """The kernel, or all instances of the template that it is one of."""
    return [each for each in report.facts if each.kernel.name_span == facts.kernel.name_span]


def _counterpart(after: FileReport, facts: KernelFacts) -> KernelFacts | None:
    """The same kernel, or the same instance, in another report."""
    mine = facts.kernel.name, facts.kernel.instance
    return next((f for f in after.facts if (f.kernel.name, f.kernel.instance) == mine), None)


def _counts_rows(facts: KernelFacts, now: KernelFacts, remedy: PadRows) -> str | None:
    """Who counts with the length of the rows; None: both access the buffer at the same places of its rows, which they
    never leave."""
    other = "other code counts"
    if len(facts.kernel.buffers) != len(now.kernel.buffers):
        return other
    old, new = facts.kernel.buffers[remedy.buffer], now.kernel.buffers[remedy.buffer]
    last = old.dims[-1] if old.dims else None
    if last is None or new.name != old.name or new.dims != (*old.dims[:-1], last + remedy.pad):
        return other
    behind = {access.point: place for access, place in in_rows(now.kernel, new, facts.shape)}
    for access, place in in_rows(facts.kernel, old, facts.shape):
        if place is None or not place.inside or behind.pop(access.point, None) != place:
            return f"line {facts.line(access.line)} counts"
    return other if behind else None


def new_findings(
    report: FileReport, again: FileReport, finding: Finding, codes: tuple[str, ...] = _CORRECTNESS
) -> list[str]:
    """What is wrong after a fix of ``finding`` and was not before, and the finding itself when it still is. In merged
    memory what was wrong before may go by the name of another buffer."""
    merged = isinstance(finding.remedy, MergeBuffers)

    def whole(each: Finding) -> object:
        return each.code, each.kernel, each.buffers

    def kind(each: Finding) -> object:
        return (each.code, each.kernel) if merged else whole(each)

    def count(where: FileReport, like: Finding, key: Callable[[Finding], object]) -> int:
        return sum(key(each) == key(like) for each in where.findings)

    found: list[str] = []
    if finding in report.findings and count(again, finding, whole) >= count(report, finding, whole):
        found.append(f"{finding.code} is still reported")
    told = {(f.code, f.kernel, f.message) for f in report.findings}
    for new in again.findings:
        if not new.code.startswith(codes) or new.severity > Severity.WARNING or whole(new) == whole(finding):
            continue
        if (new.code, new.kernel, new.message) in told:
            continue
        if count(again, new, kind) > count(report, new, kind):
            line = again.source.line_number(new.span.start)
            found.append(f"{new.code} is new at line {line}: {new.message}")
    return found


def _withdrawn(fix: Fix, why: str) -> Fix:
    what = fix.words.what
    return cannot(f"{what[0].lower()}{what[1:]}", why)
