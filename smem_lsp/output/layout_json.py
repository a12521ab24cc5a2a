"""The memory map of one kernel as data: ``layout --format json`` and the server's ``smem/layout``."""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.engine.report import FileReport
from smem_lsp.output.json_ import kernel_object
from smem_lsp.output.json_document import JsonObject
from smem_lsp.output.json_text import dump
from smem_lsp.output.memory_map import Drawing, MemoryMap, memory_map


def render(report: FileReport, index: int) -> str:
    return dump(layout_object(report, index))


def layout_object(report: FileReport, index: int) -> JsonObject:
    """The kernel with this index, its program points in order, and the rectangles of each layout.

    A rectangle is a stretch of points at which a buffer holds a value: ``first`` and ``last`` are indices of points,
    both inclusive. A buffer may have several, and one that is never live has none. Layouts of one allocator differ in
    ``barriers_added``, as in the plans of the kernel.
    """
    drawn = memory_map(report, index)
    return {
        "version": 1,
        "kernel": kernel_object(report.source, drawn.report),
        "points": [{"index": p.index, "line": p.line, "kind": p.kind} for p in drawn.points],
        "rects": [rect for drawing in drawn.drawings for rect in _rects(drawn, drawing)],
    }


def _rects(drawn: MemoryMap, drawing: Drawing) -> Iterator[JsonObject]:
    for rectangle in drawing.rectangles:
        yield {
            "buffer": drawn.names[rectangle.buffer],
            "allocator": drawing.plan.allocator,
            "barriers_added": drawing.added,
            "first": rectangle.first,
            "last": rectangle.last,
            "offset": rectangle.offset,
            "bytes": rectangle.size,
        }
