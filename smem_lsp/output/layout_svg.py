"""The memory map of one kernel as a picture that needs nothing else: no script, no font, no other file.

Time runs down the rows, beside the source lines; bytes run to the right, on one scale for all layouts. Programs that
ignore CSS show the light colours, which are in attributes as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from smem_lsp.engine.report import FileReport
from smem_lsp.output.layout_words import DYNAMIC, drawing_title, headline, occupancy, rectangle_words, remarks
from smem_lsp.output.map_colours import FILLS, LIGHT, fill, texture
from smem_lsp.output.map_frame import LINE, MARGIN, SANS, TEXT, MapFrame, frame
from smem_lsp.output.map_labels import Box, shortened, text_width, wrapped
from smem_lsp.output.markup import element, escaped
from smem_lsp.output.memory_map import MemoryMap, memory_map
from smem_lsp.output.staircase import HEIGHT, STAIRS_TITLE, Stairs, chart, staircases
from smem_lsp.output.svg_panels import clique_lines, picture, unlabelled
from smem_lsp.output.svg_parts import SANS_SERIF, css, outline, patterns, stroke, text_at

_REMARKS = 12  # lines
_NARROW = 720.0  # pixels of a picture without layouts
_LEAST_CHART, _MOST_CHART, _CHART_GAP = 260.0, 420.0, 30.0  # pixels, widths


def render(report: FileReport, index: int) -> str:
    """An SVG document with the map of the kernel with this index."""
    drawn = memory_map(report, index, in_terms=True)
    head = [headline(drawn), *(occupancy(row) for row in drawn.report.occupancy)]
    top = MARGIN + 50 + LINE * len(head)
    placed = frame(drawn, top)
    width = max(_NARROW, placed.width) if placed else _NARROW
    parts = [*_headings(drawn, head, width)]
    foot = top
    if placed is not None:
        parts += picture(placed)
        notes = max(len(clique_lines(placed, panel)) for panel in placed.panels)
        legend = placed.bottom + 26 + LINE * notes
        parts += _legend(placed, legend)
        chips, height = _chips(placed, legend + 34, width)
        parts += chips
        foot = legend + 18 + height
    charts, height = _charts(staircases(report.facts[index]), foot + 14, width)
    parts += charts
    foot += height
    said = _remark_lines(drawn, width - 2 * MARGIN)
    for number, line in enumerate(said):
        parts.append(text_at(MARGIN, foot + 14 + LINE * number, line, "muted"))
    return _document(drawn, parts, width, foot + LINE * len(said) + MARGIN)


def _remark_lines(drawn: MemoryMap, room: float) -> list[str]:
    """The remarks in lines of ``room`` pixels; of many, only the first fit into a picture."""
    found = [
        line for remark in remarks(drawn) for line in wrapped(remark.replace("`", ""), room, TEXT * SANS)
    ]
    if len(found) <= _REMARKS:
        return found
    return [
        *found[: _REMARKS - 1],
        f"and {len(found) - _REMARKS + 1} more lines, which the other formats show",
    ]


def _chips(placed: MapFrame, top: float, width: float) -> tuple[list[str], float]:
    """A list, in columns, of the buffers whose name does not fit into every rectangle; and its height in pixels."""
    buffers = unlabelled(placed)
    names, all_ = placed.drawn.names, placed.drawn.kernel.buffers
    sizes = {buffer: placed.drawn.bytes_text(all_[buffer].bytes or 0) for buffer in buffers}
    words = [f"{names[buffer]} {sizes[buffer]} B" for buffer in buffers]
    if not words:
        return [], 0.0
    column = 46 + max(text_width(word, TEXT) for word in words)
    columns = max(1, int((width - 2 * MARGIN) / column))
    parts: list[str] = []
    for place, (buffer, word) in enumerate(zip(buffers, words)):
        x, y = MARGIN + place % columns * column, top + place // columns * LINE
        shape = {"x": x, "y": y - 10.0, "width": 12, "height": 12, "rx": 3}
        parts.append(element("rect", {**shape, "fill": FILLS[fill(buffer)]}))
        if texture(buffer):
            parts.append(element("rect", {**shape, "fill": f"url(#t{texture(buffer)})"}))
        parts.append(text_at(x + 20, y, word, "muted", mono=True))
    return parts, LINE * -(-len(words) // columns) + 10


def _charts(found: Sequence[Stairs], top: float, width: float) -> tuple[list[str], float]:
    """The occupancy staircases, side by side as far as they fit; and their height in pixels."""
    if not found:
        return [], 0.0
    room = width - 2 * MARGIN + _CHART_GAP
    columns = max(1, min(len(found), int(room / (_LEAST_CHART + _CHART_GAP))))
    wide = min(_MOST_CHART, room / columns - _CHART_GAP)
    parts = [text_at(MARGIN, top + 14, STAIRS_TITLE, "muted")]
    for place, stairs in enumerate(found):
        left = MARGIN + place % columns * (wide + _CHART_GAP)
        parts += chart(stairs, left, top + 26 + place // columns * (HEIGHT + 12), wide)
    return parts, 34 + (HEIGHT + 12) * -(-len(found) // columns)


def _document(drawn: MemoryMap, parts: Iterable[str], width: float, height: float) -> str:
    attributes = {
        "xmlns": "http://www.w3.org/2000/svg",
        "xml:space": "preserve",  # indents of source lines, for programs that know no white-space: pre
        "width": f"{width:.0f}",
        "height": f"{height:.0f}",
        "viewBox": f"0 0 {width:.0f} {height:.0f}",
        "role": "img",
        "aria-labelledby": "title desc",
        "font-family": SANS_SERIF,
        "font-size": TEXT,
    }
    lines = [
        element("title", {"id": "title"}, escaped(f"Shared memory of {_name(drawn)}")),
        element("desc", {"id": "desc"}, escaped(_description(drawn))),
        element("style", {}, css()),
        element("defs", {}, *patterns()),
        element("rect", {"class": "bg", "width": "100%", "height": "100%", "fill": LIGHT["bg"]}),
        *parts,
    ]
    return element("svg", attributes, "\n", *(f"{line}\n" for line in lines)) + "\n"


def _name(drawn: MemoryMap) -> str:
    return drawn.kernel.instance or drawn.kernel.name


def _description(drawn: MemoryMap) -> str:
    parts = [headline(drawn)]
    for drawing in drawn.worth_drawing:
        buffers = "; ".join(", ".join(rectangle_words(drawn, drawing, r)[:3]) for r in drawing.rectangles)
        parts.append(f"{drawing_title(drawing)}, {drawn.bytes_text(drawing.plan.bytes)} B: {buffers}")
    return ". ".join(parts)


def _headings(drawn: MemoryMap, head: Sequence[str], width: float) -> Iterator[str]:
    place = f"{drawn.source.path}:{drawn.kernel.line}"
    room = width - 2 * MARGIN
    yield text_at(MARGIN, MARGIN + 14, shortened(_name(drawn), room, 20), "ink", size=20.0, bold=True)
    yield text_at(MARGIN, MARGIN + 34, shortened(place, room, TEXT), "muted", mono=True)
    for number, line in enumerate(head):
        y = MARGIN + 60 + LINE * number
        if number:
            yield text_at(MARGIN, y, line, "muted")
        else:
            yield text_at(MARGIN, y, line, "ink", size=14.0, bold=True)


def _legend(placed: MapFrame, y: float) -> Iterator[str]:
    """The legend: what the lines in the drawing mean."""
    entries: list[tuple[str, str]] = []
    proved = {barrier.proved for barrier in placed.drawn.barriers}
    mark = f"M0 {y:.2f}h26"
    if True in proved:
        entries.append((stroke(mark, "barrier", width=1.25), "barrier"))
    if False in proved:
        entries.append((stroke(mark, "barrier", width=1.25, dash="2 4"), "barrier that no layout counts on"))
    if any(panel.drawing.added for panel in placed.panels):
        entries.append((stroke(mark, "added", width=2.0), "added barrier"))
    if any(panel.drawing.dynamic_at for panel in placed.panels):
        entries.append((stroke(f"M13 {y - 7:.2f}v14", "muted", width=2.0), DYNAMIC))
    if any(placed.drawn.outlined(panel.drawing) for panel in placed.panels):
        entries.append((outline(Box(0, y - 6, 26, y + 6)), "together they force the bytes"))
    if len(placed.panels) > 1:
        entries.append(
            (element("rect", {"y": y - 6, "width": 26, "height": 12, "fill": "url(#free)"}), "given back")
        )
    if not placed.scale.to_scale:
        entries.append(("", "small buffers are drawn wider than they are"))
    x = MARGIN
    for sign, words in entries:
        if sign:
            yield element("g", {"transform": f"translate({x:.2f} 0)"}, sign)
            x += 34
        yield text_at(x, y + 4, words, "muted")
        x += len(words) * TEXT * SANS + 24
