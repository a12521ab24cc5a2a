"""Another order of declarations, which needs less padding: whole lines change places, comments behind them included."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from smem_lsp.fixes.declarations import (
    Refused,
    alone_on_its_line,
    next_line_start,
    require_editable,
    statement_of,
)
from smem_lsp.fixes.layout import layout_after, needed_alignment
from smem_lsp.fixes.model import Fix, Safety
from smem_lsp.ir.model import Buffer
from smem_lsp.rules.subject import KernelFacts
from smem_lsp.source import SourceText, Span, TextEdit


def reorder_fix(facts: KernelFacts, source: SourceText, order: Sequence[int]) -> Fix:
    """Declare the buffers of a kernel, by their indices, in this order. Raises Refused."""
    assert facts.declared is not None
    buffers = sorted((facts.kernel.buffers[index] for index in order), key=lambda b: b.declared.start)
    _require_lines(facts, source, buffers)
    positions = {index: place for place, index in enumerate(order)}
    aligns = {buffer.index: buffer.align or 1 for buffer in buffers}
    after = layout_after(facts.items, positions, aligns, ())
    needed = needed_alignment(facts)
    lost = next((b for b in buffers if after.offsets[b.index] % needed[b.index]), None)
    if lost is not None:
        raise Refused(f"`{lost.name}` would lose the alignment that its accesses need")
    before, promised = facts.total(facts.declared.bytes), facts.total(after.bytes)
    if promised >= before:
        raise Refused("no bytes are saved")
    edits = []
    for here, index in zip(buffers, order):
        there = facts.kernel.buffers[index]
        if there is not here:
            edits.append(TextEdit(_line(source, here), source.slice(_line(source, there))))
    names = ", ".join(facts.kernel.buffers[index].name for index in order)
    return Fix(f"Reorder {names}: {before:,} → {promised:,} B", Safety.SAFE, tuple(edits), promised)


def _line(source: SourceText, buffer: Buffer) -> Span:
    start = statement_of(buffer).start
    return Span(source.line_start(start), source.line_end(start))


def _require_lines(facts: KernelFacts, source: SourceText, buffers: Sequence[Buffer]) -> None:
    """Raises Refused unless they are declared line by line, one below the other."""
    for buffer in buffers:
        require_editable(facts.kernel, source, buffer)
        if buffer.site.count > 1 or not alone_on_its_line(source, statement_of(buffer)):
            raise Refused(f"`{buffer.name}` shares its line with other code")
    for above, below in pairwise(buffers):
        end = next_line_start(source, statement_of(above).end)
        if above.site.scope != below.site.scope or source.text[end : statement_of(below).start].strip():
            raise Refused(f"`{above.name}` and `{below.name}` are not declared one below the other")
