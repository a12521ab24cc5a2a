"""Another order of declarations, which needs less padding: whole lines change places, comments behind them included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from smem_lsp.allocation.plan import Plan
from smem_lsp.fixes.cure import Cure
from smem_lsp.fixes.declarations import (
    Refused,
    alone_on_its_line,
    next_line_start,
    require_editable,
    statement_of,
)
from smem_lsp.fixes.layout import layout_after, needed_alignment
from smem_lsp.fixes.model import Fix, Safety, Title, cannot
from smem_lsp.ir.nodes import Buffer, Kernel
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.merging import titled
from smem_lsp.rules.model import ReorderDeclarations
from smem_lsp.source import SourceText, Span, TextEdit

_MOST_NAMES = 6  # of a sentence


def reorder(
    facts: KernelFacts, source: SourceText, order: Sequence[int], siblings: Sequence[KernelFacts]
) -> Fix:
    """The fix for another order of declarations; where it is refused, a display fix whose title is the reason."""
    try:
        return reorder_fix(facts, source, order, siblings)
    except Refused as why:
        buffers = [facts.kernel.buffers[item.index] for item in facts.items]
        more = len(buffers) - _MOST_NAMES
        shown = (
            titled(facts, buffers) if more <= 1 else f"{titled(facts, buffers[:_MOST_NAMES])} and {more} more"
        )
        return cannot(f"reorder {shown}", why)


def reorder_fix(
    facts: KernelFacts, source: SourceText, order: Sequence[int], siblings: Sequence[KernelFacts] = ()
) -> Fix:
    """Declare the buffers of a kernel, by their indices, in this order. ``siblings``: the other instances of the same
    template, whose accesses have to stay as aligned. Raises Refused."""
    assert facts.declared is not None
    buffers = sorted((facts.kernel.buffers[index] for index in order), key=lambda b: b.declared)
    _require_lines(facts, source, buffers)
    places = {facts.span(facts.kernel.buffers[index].declared): place for place, index in enumerate(order)}
    after = _laid(facts, places)
    for sibling in siblings:
        if sibling.declared is not None:
            _laid(sibling, places)
    before, promised = facts.total(facts.declared.bytes), facts.total(after.bytes)
    if promised >= before:
        raise Refused("no bytes are saved")
    edits = []
    for here, index in zip(buffers, order):
        there = facts.kernel.buffers[index]
        if there is not here:
            edits.append(
                TextEdit(_line(facts.kernel, source, here), source.slice(_line(facts.kernel, source, there)))
            )
    names = titled(facts, [facts.kernel.buffers[index] for index in order])
    return Fix(Title(f"Reorder {names}", f"{before:,} → {promised:,} B"), Safety.SAFE, tuple(edits), promised)


def _laid(facts: KernelFacts, places: Mapping[Span, int]) -> Plan:
    """The layout with the declarations at these places. Raises Refused where an access needs another alignment."""
    buffers = facts.kernel.buffers
    declared = {item.index: facts.span(buffers[item.index].declared) for item in facts.items}
    if any(span not in places for span in declared.values()):
        raise Refused(f"{facts.kernel.instance} has other buffers")
    positions = {index: places[span] for index, span in declared.items()}
    after = layout_after(facts.items, positions, {i: buffers[i].align or 1 for i in positions}, ())
    needed = needed_alignment(facts)
    lost = next((index for index in positions if after.offsets[index] % needed[index]), None)
    if lost is not None:
        raise Refused(f"`{buffers[lost].name}` would lose the alignment that its accesses need")
    return after


def _line(kernel: Kernel, source: SourceText, buffer: Buffer) -> Span:
    start = statement_of(kernel, buffer).start
    return Span(source.line_start(start), source.line_end(start))


def _require_lines(facts: KernelFacts, source: SourceText, buffers: Sequence[Buffer]) -> None:
    """Raises Refused unless they are declared line by line, one below the other."""
    kernel = facts.kernel
    for buffer in buffers:
        require_editable(facts.kernel, source, buffer)
        if buffer.site.count > 1 or not alone_on_its_line(source, statement_of(kernel, buffer)):
            raise Refused(f"`{buffer.name}` shares its line with other code")
    for above, below in pairwise(buffers):
        end = next_line_start(source, statement_of(kernel, above).end)
        if (
            above.site.scope != below.site.scope
            or source.text[end : statement_of(kernel, below).start].strip()
        ):
            raise Refused(f"`{above.name}` and `{below.name}` are not declared one below the other")


CURE = Cure(
    ReorderDeclarations,
    lambda remedy, kernel: "rewrite the kernel",
    lambda remedy, at: reorder(at.facts, at.source, remedy.order, at.siblings),
    compiled=True,
)
