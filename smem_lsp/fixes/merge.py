"""The rewrite of a merge plan: groups of sharing buffers, each in the first style that expresses it, and barriers.

Before it is offered, the layout that the edited text will have is worked out by ptxas's rule and put before the same
validator as the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from smem_lsp.allocation.plan import Item, Plan
from smem_lsp.allocation.validate import validate
from smem_lsp.facts.layouts import LayoutCandidate
from smem_lsp.fixes.barriers import insert_barriers
from smem_lsp.fixes.byte_buffer import merge_as_bytes
from smem_lsp.fixes.copy_waits import insert_last_wait
from smem_lsp.fixes.cure import Cure, conditional_words
from smem_lsp.fixes.declarations import Refused, require_editable
from smem_lsp.fixes.guest import merge_into_host
from smem_lsp.fixes.instances import aligned_for_all, require_right_in
from smem_lsp.fixes.layout import GroupRewrite, SharingGroup, layout_after, needed_alignment
from smem_lsp.fixes.model import Fix, Safety, Title, cannot
from smem_lsp.fixes.phases import merge_as_union
from smem_lsp.fixes.reorder import reorder
from smem_lsp.ir.nodes import BarrierSite, Buffer, Kernel, walk
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.merging import overlap, titled
from smem_lsp.rules.model import MergeBuffers
from smem_lsp.source import SourceText, Span, TextEdit, checkpoint


def merge_fix(
    facts: KernelFacts,
    source: SourceText,
    remedy: MergeBuffers,
    names: frozenset[str] = frozenset(),
    siblings: Sequence[KernelFacts] = (),
) -> Fix:
    """The fix for a plan; a display fix without edits whose title is the reason when it is refused.

    ``names``: macros and functions of the file, which new names must not hit; ``siblings``: other instances of the
    same template.
    """
    candidate, undrained = remedy.candidate, facts.kernel
    if remedy.waits:
        facts = facts.of_drained or facts
    assert facts.declared is not None
    groups = _groups(facts, remedy, siblings)
    merged = [buffer for group in groups for buffer in group.buffers]
    what = f"merge {titled(facts, merged)}"
    if not merged:  # the plan saves padding only
        order = sorted(candidate.plan.offsets, key=candidate.plan.offsets.__getitem__)
        return reorder(facts, source, order, siblings)
    try:
        for group in groups:
            checkpoint()
            for buffer in group.buffers:
                require_editable(facts.kernel, source, buffer)
        if remedy.waits:
            siblings = [_drained_alike(each, undrained) for each in siblings]
        rewrites, after, aligned = _rewrite(facts, source, remedy, groups, names, siblings)
        edits = [*aligned, *(edit for rewrite in rewrites for edit in rewrite.edits)]
        barriers = insert_barriers(
            facts.kernel, source, candidate.plan.barriers, [group.buffers for group in groups]
        )
        edits += insert_last_wait(undrained, source, barriers) if remedy.waits else barriers
        _require_disjoint(edits)
    except Refused as why:
        return cannot(what, why)
    assumptions = [*facts.told(facts.assumptions(candidate)), *conditional_words(facts, source)]
    count = len(candidate.plan.barriers)
    if candidate.plan.cost > count:
        assumptions.append(f"a barrier inside a loop: {candidate.plan.cost} executions per block")
    added = (
        "no barrier added" if count == 0 else "1 barrier added" if count == 1 else f"{count} barriers added"
    )
    if remedy.waits:
        added += " and a wait for its copies"
    before = facts.total(facts.declared.bytes)
    promised = facts.total(after.bytes)
    title = Title(
        f"{what[0].upper()}{what[1:]}",
        f"{before:,} → {promised:,} B",
        price=f", {added}, {remedy.benefit}" if remedy.benefit else f", {added}",
        assumed=tuple(assumptions),
    )
    return Fix(title, Safety.UNSAFE if assumptions else Safety.SAFE, tuple(sorted(edits)), promised)


def _drained_alike(sibling: KernelFacts, kernel: Kernel) -> KernelFacts:
    """Another instance with one more wait for its copies, where that makes a difference. Raises Refused where it would
    stand elsewhere than that of ``kernel``."""
    if sibling.kernel.drained is not None and _of_wait(sibling.kernel) != _of_wait(kernel):
        raise Refused(f"{sibling.kernel.instance} has no place for a wait where this one stands")
    return sibling.of_drained or sibling


def _of_wait(kernel: Kernel) -> Span | None:
    """The statement that the wait would go in front of."""
    drained = kernel.drained
    places = (
        n for n in walk(kernel.body) if isinstance(n, BarrierSite) and drained and n.point == drained.place
    )
    where = next((place.statement for place in places), None)
    return None if where is None else kernel.places.span(where)


def _groups(facts: KernelFacts, remedy: MergeBuffers, siblings: Sequence[KernelFacts]) -> list[SharingGroup]:
    """Connected sets of buffers that share bytes, in source order."""
    plan = remedy.candidate.plan
    conflicts = remedy.candidate.conflicts
    parts: list[set[int]] = []
    for item in facts.items:
        checkpoint()
        touching = [p for p in parts if any(overlap(facts, plan, item.index, other) for other in p)]
        joined = {item.index}.union(*touching)
        parts = [p for p in parts if p not in touching] + [joined]
    items = aligned_for_all(facts, siblings)
    groups: list[SharingGroup] = []
    for part in parts:
        if len(part) < 2:
            continue
        buffers = tuple(sorted((facts.kernel.buffers[i] for i in part), key=lambda b: b.declared))
        lowest = min(plan.offsets[i] for i in part)
        groups.append(
            SharingGroup(
                buffers,
                {i: items[i] for i in part},
                conflicts.hard | conflicts.soft,
                conflicts.equal,
                {i: plan.offsets[i] - lowest for i in part},
            )
        )
    return sorted(groups, key=lambda g: g.buffers[0].declared)


_Style = Callable[[SharingGroup, set[str]], GroupRewrite]


def _rewrite(
    facts: KernelFacts,
    source: SourceText,
    remedy: MergeBuffers,
    groups: Sequence[SharingGroup],
    names: frozenset[str],
    siblings: Sequence[KernelFacts],
) -> tuple[list[GroupRewrite], Plan, list[TextEdit]]:
    """Each group in the first style whose layout is as small as the plan promised, that layout, and the edits that
    keep the other buffers aligned."""
    kernel = facts.kernel
    styles: tuple[_Style, ...] = (
        lambda group, taken: merge_into_host(kernel, source, group, [each.kernel for each in siblings]),
        lambda group, taken: merge_as_union(kernel, source, group, taken),
        lambda group, taken: merge_as_bytes(kernel, source, group, taken),
    )
    taken = set(kernel.identifiers) | names
    rewrites: list[GroupRewrite] = []
    for group in groups:
        rewrites.append(_first_style(group, styles, taken))
    after, aligned = _checked_layout(facts, remedy, rewrites)
    if after.bytes > remedy.candidate.plan.bytes:
        # declaration order costs padding that the plan avoids: put everything into one buffer at the plan's offsets
        everything = whole(facts, remedy.candidate, siblings)
        for buffer in everything.buffers:
            require_editable(kernel, source, buffer)
        rewrites = [merge_as_bytes(kernel, source, everything, set(kernel.identifiers) | names)]
        after, aligned = _checked_layout(facts, remedy, rewrites)
    for sibling in siblings:
        require_right_in(sibling, facts, rewrites, remedy.candidate)
    return rewrites, after, aligned


def _first_style(group: SharingGroup, styles: Sequence[_Style], taken: set[str]) -> GroupRewrite:
    planned = max(group.offsets[b.index] + group.item(b).size for b in group.buffers)
    reason: Refused | None = None
    for style in styles:
        names = set(taken)
        try:
            rewrite = style(group, names)
        except Refused as refusal:
            reason = refusal
            continue
        if rewrite.size <= planned or style is styles[-1]:
            taken |= names
            return rewrite
    assert reason is not None
    raise reason


def whole(
    facts: KernelFacts, candidate: LayoutCandidate, siblings: Sequence[KernelFacts] = ()
) -> SharingGroup:
    """All buffers of the kernel as one group."""
    conflicts = candidate.conflicts
    buffers: list[Buffer] = [facts.kernel.buffers[item.index] for item in facts.items]
    return SharingGroup(
        tuple(sorted(buffers, key=lambda b: b.declared)),
        aligned_for_all(facts, siblings),
        conflicts.hard | conflicts.soft,
        conflicts.equal,
        dict(candidate.plan.offsets),
    )


def _checked_layout(
    facts: KernelFacts, remedy: MergeBuffers, rewrites: Sequence[GroupRewrite]
) -> tuple[Plan, list[TextEdit]]:
    """The layout of the rewritten kernel, and edits that keep unmerged buffers as aligned as their accesses need.

    Raises Refused when the validator finds anything wrong with it.
    """
    buffers = facts.kernel.buffers
    merged = {index for rewrite in rewrites for index in rewrite.inner}
    positions = {b.index: facts.span(b.declared).start for b in buffers}
    aligns = {item.index: buffers[item.index].align or 1 for item in facts.items}
    needed = needed_alignment(facts)
    edits: list[TextEdit] = []
    while True:
        checkpoint()
        after = layout_after(facts.items, positions, aligns, rewrites)
        moved = [i for i in aligns if i not in merged and after.offsets[i] % needed[i]]
        if not moved:
            break
        for index in moved:
            site = buffers[index].site
            if site.statement is None or site.count > 1:
                raise Refused(f"`{buffers[index].name}` would lose the alignment that its accesses need")
            aligns[index] = needed[index]
            start = facts.span(site.statement).start
            edits.append(TextEdit(Span(start, start), f"alignas({needed[index]}) "))
    candidate = remedy.candidate
    plan = Plan("rewrite", after.bytes, after.offsets, barriers=candidate.plan.barriers)
    fixed = frozenset(b.index for b in buffers if b.fixed is not None)
    items = [Item(i.index, i.name, i.size, needed[i.index]) for i in facts.items]
    violations = validate(items, plan, facts.kernel.body, candidate.facts, fixed)
    if violations:
        raise Refused(violations[0].words(facts.line))
    return plan, edits


def _require_disjoint(edits: Sequence[TextEdit]) -> None:
    ordered = sorted(edits)
    for a, b in pairwise(ordered):
        if b.span.start < a.span.end:
            raise Refused("the declarations stand too close together to be rewritten")


CURE = Cure(
    MergeBuffers,
    lambda remedy, kernel: "rewrite the kernel",
    lambda remedy, at: merge_fix(at.facts, at.source, remedy, at.unit.taken, at.siblings),
    compiled=True,
)
