"""The merges that a kernel allows, whether or not a rule finds them worth a diagnostic."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from smem_lsp.allocation.best import best
from smem_lsp.analysis.dataflow.conflicts import Pairs
from smem_lsp.analysis.dataflow.masks import mask_of
from smem_lsp.facts.layouts import LayoutCandidate
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.merging import best_step, merged_buffers, overlap
from smem_lsp.rules.model import Finding, MergeBuffers, MoveRanges, MoveTermRanges, Severity, Unmerge
from smem_lsp.source import checkpoint


def savings(facts: KernelFacts) -> list[int]:
    """The numbers of the candidates that save bytes: points of the curve of bytes against added barriers."""
    if facts.declared is None or facts.withheld:
        return []
    before = facts.total(facts.declared.bytes)
    return [
        number for number, candidate in enumerate(facts.best) if facts.total(candidate.plan.bytes) < before
    ]


def merges(facts: KernelFacts) -> list[Finding]:
    """Each point of the curve that saves bytes, as a finding to ask the fix of, and those points that one more wait for
    its copies allows, where they save more than the same number of barriers does without it; the same of ranges of
    dynamic shared memory."""
    return [*_of_arrays(facts), *_of_ranges(facts), *_of_terms(facts)]


def _of_arrays(facts: KernelFacts) -> list[Finding]:
    found = [merge_finding(facts, facts.best[number]) for number in savings(facts)]
    drained = facts.of_drained
    if facts.declared is None or facts.withheld or drained is None:
        return found
    for candidate in drained.best:
        checkpoint()
        barriers = len(candidate.plan.barriers)
        least = min(
            [c.plan.bytes for c in facts.best if len(c.plan.barriers) <= barriers],
            default=facts.declared.bytes,
        )
        if barriers and candidate.plan.bytes < least:
            found.append(merge_finding(drained, candidate, waits=True))
    return found


def _of_ranges(facts: KernelFacts) -> list[Finding]:
    divided = facts.dynamic_partition
    if divided is None or facts.withheld or any(each.members for each in divided.partition.ranges):
        return []
    base = facts.kernel.buffers[divided.partition.base]
    return [
        Finding(
            "SMEM302" if candidate.plan.barriers else "SMEM301",
            "",
            facts.span(base.declared),
            Severity.INFO,
            facts.kernel.name,
            remedy=MoveRanges(facts.index, number),
        )
        for number, candidate in enumerate(divided.best)
        if candidate.plan.bytes < divided.declared.bytes
    ]


def _of_terms(facts: KernelFacts) -> list[Finding]:
    if facts.withheld:
        return []
    return [
        Finding(
            "SMEM302" if plan.candidate.plan.barriers else "SMEM301",
            "",
            facts.span(facts.kernel.buffers[plan.partition.base].declared),
            Severity.INFO,
            facts.kernel.name,
            remedy=MoveTermRanges(facts.index, number),
        )
        for number, plan in enumerate(facts.term_plans)
    ]


_MOST_PARTS = 6  # entries of a menu


def parts(facts: KernelFacts, picked: Collection[int]) -> list[LayoutCandidate]:
    """Merges of some of the buffers that could share bytes, each saving some, most of them first. ``picked``: the
    buffers that are asked for; one of them alone is paired with each of the others, and without any there is one merge
    for each set of buffers that share in the best plan."""
    if not savings(facts):
        return []
    names = [item.index for item in facts.items]
    if len(picked) > 1:
        choices = [frozenset(picked)]
    elif picked:
        choices = [frozenset((*picked, other)) for other in names if other not in picked]
    else:
        choices = _sharing(facts, facts.best[savings(facts)[0]])
    found = [part for chosen in choices if (part := _part(facts, chosen)) is not None]
    found.sort(key=lambda part: facts.total(part.plan.bytes))
    return found[:_MOST_PARTS]


def _sharing(facts: KernelFacts, candidate: LayoutCandidate) -> list[frozenset[int]]:
    """The sets of buffers that share bytes in a plan, where there are several."""
    sets: list[frozenset[int]] = []
    for buffer in merged_buffers(facts, candidate.plan):
        checkpoint()
        touching = [
            each for each in sets if any(overlap(facts, candidate.plan, buffer.index, o) for o in each)
        ]
        joined = frozenset((buffer.index,)).union(*touching)
        sets = [each for each in sets if each not in touching] + [joined]
    return sets if len(sets) > 1 else []


def _part(facts: KernelFacts, chosen: frozenset[int]) -> LayoutCandidate | None:
    """The smallest layout in which only the ``chosen`` share bytes, with few barriers; None: it saves none."""
    assert facts.declared is not None
    before = facts.total(facts.declared.bytes)
    every, free = mask_of(item.index for item in facts.items), mask_of(chosen)
    others = Pairs.between(every, every) - Pairs.between(free, free)
    for candidate in facts.best:
        checkpoint()
        if len(candidate.plan.barriers) > 1:  # some of them the others may need
            break
        conflicts = replace(candidate.conflicts, soft=candidate.conflicts.soft | others)
        plan = best(facts.items, conflicts, facts.liveness.lives)
        if facts.total(plan.bytes) < before:
            plan = replace(plan, barriers=candidate.plan.barriers, cost=candidate.plan.cost)
            return replace(candidate, plan=plan, conflicts=conflicts)
    return None


def unmerges(facts: KernelFacts) -> list[Finding]:
    """Each buffer whose bytes serve several purposes, as a finding to ask the fix of."""
    dynamic, in_terms = facts.dynamic_purposes, facts.term_purposes
    bases = [each.partition.base for each in facts.class_partitions if each.by_names]
    bases += [] if dynamic is None or not dynamic.by_names else [dynamic.partition.base]
    bases += [] if in_terms is None else [in_terms.partition.base]
    return [
        Finding(
            "SMEM301",
            "",
            facts.span(facts.kernel.buffers[base].declared),
            Severity.INFO,
            facts.kernel.name,
            remedy=Unmerge(facts.index, base),
        )
        for base in bases
    ]


def merge_finding(facts: KernelFacts, candidate: LayoutCandidate, *, waits: bool = False) -> Finding:
    """One of them as a finding of its own, to ask the fix of. ``waits``: it needs one more wait for copies."""
    assert facts.declared is not None
    step = best_step(facts, facts.total(facts.declared.bytes), facts.total(candidate.plan.bytes))
    remedy = MergeBuffers(facts.index, candidate, step.with_launch() if step is not None else "", waits)
    code = "SMEM302" if candidate.plan.barriers else "SMEM301"
    return Finding(code, "", facts.kernel.name_span, Severity.INFO, facts.kernel.name, remedy=remedy)
