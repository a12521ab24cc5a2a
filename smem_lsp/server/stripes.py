"""What the gutter shows of the buffer under the cursor: where it holds a value, and what its barriers order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from smem_lsp.engine.report import FileReport
from smem_lsp.ir.nodes import Access, Barrier, BarrierKind, walk
from smem_lsp.output.map_colours import FILLS, fill
from smem_lsp.output.memory_map import memory_map
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.server.hover import buffer_at
from smem_lsp.source import Span

_DONE = {True: "write", False: "read"}


def stripes(report: FileReport, kernel: int, word: Span) -> dict[str, object] | None:
    """``{buffer, colour, lines: [[first, last]], barriers: [{line, words}]}`` of the buffer that is named at ``word``,
    lines 0-based; the colour is that of the map. None: no buffer is."""
    facts = report.facts[kernel]
    written = report.source.slice(word)
    buffer = buffer_at(facts.kernel, written, word)
    if buffer is None:
        return None
    drawn = memory_map(report, kernel)
    rectangles = drawn.declared.of(buffer.index) if drawn.declared is not None else ()
    lines = [[each.first_line - 1, each.last_line - 1] for each in rectangles]
    if not lines and (live := report.kernels[kernel].live.get(buffer.index)) is not None:
        lines = [[live[0] - 1, live[1] - 1]]
    return {
        "buffer": buffer.name,
        "colour": FILLS[fill(buffer.index)],
        "lines": lines,
        "barriers": list(_barriers(facts, buffer.index)),
    }


def _barriers(facts: KernelFacts, buffer: int) -> Iterator[dict[str, object]]:
    """The barriers with accesses of the buffer right before and behind them, in program order."""
    before: list[Access] = []
    waiting: list[tuple[Barrier, list[Access]]] = []
    for node in walk(facts.kernel.body):
        if isinstance(node, Barrier) and node.kind is BarrierKind.BLOCK:
            waiting = [(node, before)] if before else waiting
            before = []
        elif isinstance(node, Access) and node.buffer == buffer:
            for barrier, earlier in waiting:
                yield {"line": facts.line(barrier.line) - 1, "words": _orders(facts, earlier, node)}
            waiting = []
            before.append(node)


def _orders(facts: KernelFacts, earlier: Sequence[Access], later: Access) -> str:
    """``orders the write at line 13 before the read at line 18``"""
    last = earlier[-1]
    first = f"{_DONE[last.kind.writes]} at line {facts.line(last.line)}"
    return f"orders the {first} before the {_DONE[later.kind.writes]} at line {facts.line(later.line)}"
