"""The memory map as text: what ``smem-lsp layout`` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from smem_lsp.engine.report import FileReport
from smem_lsp.output.drawing import DrawnBlock, bars, draw, line_axis, make_scale, mark_axis
from smem_lsp.output.layout_words import (
    TABLE_HEAD,
    TEXT_COLUMNS,
    barriers_before,
    clique,
    drawing_title,
    dynamic_words,
    headline,
    occupancy,
    remarks,
    table,
)
from smem_lsp.output.memory_map import Drawing, MemoryMap, memory_map
from smem_lsp.output.style import PLAIN, Style

DEFAULT_WIDTH = 100  # columns
_MAX_BANDS = 40  # more of them are a wall, not a picture


def render(
    report: FileReport, indices: Sequence[int], style: Style = PLAIN, width: int = DEFAULT_WIDTH
) -> str:
    """The maps of the kernels with these indices, in at most ``width`` columns where names allow."""
    maps = (memory_map(report, index, in_terms=True) for index in indices)
    return "\n\n".join("\n".join(map(style.line, _kernel(drawn, style, width))) for drawn in maps) + "\n"


def _kernel(drawn: MemoryMap, style: Style, width: int) -> Iterator[str]:
    arrow = "→" if style.unicode else "->"
    yield style.bold(f"{drawn.kernel.name}  {drawn.source.path}:{drawn.kernel.line}")
    yield f"  {headline(drawn, arrow)}"
    yield from (f"  {occupancy(row, arrow)}" for row in drawn.report.occupancy)
    if drawn.kernel.buffers:
        yield ""
        yield from _pictures(drawn, style, width)
        yield from _table(drawn, style)
        yield from _curve(drawn, style, width)
    if said := remarks(drawn):
        yield ""
        yield from (f"  {remark}" for remark in said)


def _pictures(drawn: MemoryMap, style: Style, width: int) -> Iterator[str]:
    if drawn.declared is None:
        return
    shown = [drawing for drawing in drawn.worth_drawing if not drawing.added]
    if any(len({r.offset for r in drawing.rectangles}) > _MAX_BANDS for drawing in shown):
        return
    before = _blocks(drawn, drawn.declared)
    top = drawn.declared.plan.bytes
    scale = make_scale(before, top, width, {} if drawn.terms is None else drawn.terms.texts)
    starts = sorted({block.first for block in before})
    for drawing in shown:
        yield "  " + ", ".join(
            (
                f"{style.bold(drawing_title(drawing))}  {drawn.bytes_text(drawing.plan.bytes)} B",
                *dynamic_words(drawing),
            )
        )
        yield from draw(_blocks(drawn, drawing), drawing.plan.bytes, scale, style)
        yield line_axis(scale, starts, style)
        if lines := sorted({barrier.line for barrier in drawn.barriers}):
            yield mark_axis(scale, lines, "barriers", style)
        yield ""


def _blocks(drawn: MemoryMap, drawing: Drawing) -> list[DrawnBlock]:
    """Lines of a function that is called in the middle may come before those of its call."""
    shades = {buffer.index: shade for shade, buffer in enumerate(drawn.kernel.buffers)}
    return [
        DrawnBlock(
            drawn.names[r.buffer],
            min(r.first_line, r.last_line),
            max(r.first_line, r.last_line),
            r.offset,
            r.size,
            shades[r.buffer],
        )
        for r in drawing.rectangles
    ]


def _table(drawn: MemoryMap, style: Style) -> Iterator[str]:
    rows = [TABLE_HEAD, *(row.cells for row in table(drawn, "–" if style.unicode else "-"))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(TABLE_HEAD))]
    for row in rows:
        cells = [
            f"{cell:<{size}}" if column < TEXT_COLUMNS else f"{cell:>{size}}"
            for column, (cell, size) in enumerate(zip(row, widths, strict=True))
        ]
        line = f"  {'  '.join(cells)}".rstrip()
        yield style.bold(line) if row is TABLE_HEAD else line


def _curve(drawn: MemoryMap, style: Style, width: int) -> Iterator[str]:
    """The curve of bytes against added barriers, if a barrier saves anything; then what forces the bytes."""
    points = drawn.best
    if len(points) > 1:
        yield ""
        yield f"  {style.bold('bytes against added barriers')}"
        values = {barriers_before(drawn.report, drawing): drawing.plan.bytes for drawing in points}
        yield from bars(values, min(40, width // 3), style, drawn.bytes_text)
    sentences = dict.fromkeys(sentence for drawing in points if (sentence := clique(drawn, drawing)))
    if sentences:
        yield ""
        yield from (f"  {sentence}" for sentence in sentences)
