"""One text, several instances of a template: what is written for one has to be right in the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from smem_lsp.allocation.plan import Item, Plan
from smem_lsp.allocation.validate import validate
from smem_lsp.facts.layouts import LayoutCandidate
from smem_lsp.fixes.declarations import Refused
from smem_lsp.fixes.layout import GroupRewrite, layout_after, needed_alignment
from smem_lsp.ir.nodes import BarrierSite, Kernel, walk
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.source import Span, checkpoint


def require_right_in(
    sibling: KernelFacts, facts: KernelFacts, rewrites: Sequence[GroupRewrite], candidate: LayoutCandidate
) -> None:
    """Raises Refused unless the rewrites made for ``facts`` give a valid layout in another instance, ``sibling``. An
    instance with an unknown size is not judged."""
    if sibling.declared is None or not sibling.best:
        return
    instance = sibling.kernel.instance
    barriers = _same_places(facts.kernel, sibling.kernel, candidate.plan.barriers)
    buffers = sibling.kernel.buffers
    items = {item.index: item for item in sibling.items}
    laid = _rewrites_in(sibling, facts.kernel, rewrites)
    positions = {buffer.index: sibling.span(buffer.declared).start for buffer in buffers}
    after = layout_after(sibling.items, positions, {i: buffers[i].align or 1 for i in items}, laid)
    needed = needed_alignment(sibling)
    proved = next(
        (c.facts for c in sibling.best if c.assumes_shape == candidate.assumes_shape), sibling.best[0].facts
    )
    fixed = frozenset(buffer.index for buffer in buffers if buffer.fixed is not None)
    end = max((after.offsets[item.index] + item.size for item in sibling.items), default=0)
    plan = Plan("rewrite", end, after.offsets, barriers=barriers)
    measured = [Item(item.index, item.name, item.size, needed[item.index]) for item in sibling.items]
    violations = validate(measured, plan, sibling.kernel.body, proved, fixed)
    if violations:
        raise Refused(f"in {instance} {violations[0].words(sibling.line)}")


def _rewrites_in(
    sibling: KernelFacts, kernel: Kernel, rewrites: Sequence[GroupRewrite]
) -> list[GroupRewrite]:
    """The rewrites of ``kernel`` with the sizes and the buffers of another instance. Raises Refused where the size of
    one of its buffers is unknown."""
    items = {item.index: item for item in sibling.items}
    twins = {sibling.span(buffer.declared): buffer for buffer in sibling.kernel.buffers}
    laid: list[GroupRewrite] = []
    for rewrite in rewrites:
        checkpoint()
        measures: dict[int, Item] = {}
        for index in rewrite.inner:
            buffer = kernel.buffers[index]
            twin = twins.get(kernel.places.span(buffer.declared))
            if twin is None or twin.bytes is None:
                raise Refused(f"`{buffer.name}` has no known size in {sibling.kernel.instance}")
            size = items[twin.index].size if twin.index in items else twin.bytes
            measures[index] = Item(twin.index, twin.name, size, twin.align or 1)  # as the text aligns it
        inner, size, align = rewrite.measured(measures)
        offsets = {measures[index].index: offset for index, offset in inner.items()}
        placed = {twin: offset for twin, offset in offsets.items() if twin in items}
        laid.append(GroupRewrite(rewrite.anchor, size, align, placed, (), rewrite.measured))
    return laid


def _same_places(here: Kernel, there: Kernel, points: Sequence[int]) -> tuple[int, ...]:
    """The places of the kernel ``there`` at the same spots of the text as ``points``. Raises Refused where one is
    missing."""
    own, other = _places(here), _places(there)
    found: list[int] = []
    for point in points:
        checkpoint()
        spot, alike = next((spot, alike) for spot, alike in own.items() if point in alike)
        twins = other.get(spot, [])
        if len(twins) != len(alike):
            raise Refused(f"{there.instance} has no place for a barrier where this one stands")
        found.append(twins[alike.index(point)])
    return tuple(found)


def _places(kernel: Kernel) -> dict[tuple[Span | None, bool], list[int]]:
    """By what follows in the text, the places there; several in a body that is called more than once."""
    found: dict[tuple[Span | None, bool], list[int]] = {}
    for node in walk(kernel.body):
        if isinstance(node, BarrierSite):
            where = None if node.statement is None else kernel.places.span(node.statement)
            found.setdefault((where, node.at_end), []).append(node.point)
    return found


def aligned_for_all(facts: KernelFacts, siblings: Sequence[KernelFacts]) -> dict[int, Item]:
    """The items of a kernel, aligned for the accesses of the other instances, too, where those are wider than types."""
    wider: dict[Span, int] = {}
    for sibling in siblings:
        checkpoint()
        for item in sibling.items:
            buffer = sibling.kernel.buffers[item.index]
            if item.align > (buffer.align or 1):
                where = sibling.span(buffer.declared)
                wider[where] = max(item.align, wider.get(where, 1))
    declared = {buffer.index: facts.span(buffer.declared) for buffer in facts.kernel.buffers}
    return {
        item.index: replace(item, align=max(item.align, wider.get(declared[item.index], 1)))
        for item in facts.items
    }
