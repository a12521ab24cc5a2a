"""The source lines and the layouts of an SVG map."""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.output.layout_words import DYNAMIC, barrier_words, clique, drawing_title, rectangle_words
from smem_lsp.output.map_bytes import tick_bytes
from smem_lsp.output.map_colours import FILLS, LIGHT, fill, texture
from smem_lsp.output.map_frame import LINE, LOOP, SANS, SMALL, TEXT, MapFrame, Panel
from smem_lsp.output.map_labels import MapLabel, label, shortened, text_width, wrapped
from smem_lsp.output.markup import element, escaped
from smem_lsp.output.memory_map import BlockBarrier, Rectangle
from smem_lsp.output.svg_parts import MONO, inside, outline, stroke, text_at


def picture(placed: MapFrame) -> Iterator[str]:
    for panel in placed.panels:
        yield from _ground(placed, panel)
    if placed.legible:
        yield from _code(placed)
    else:
        yield from _some_numbers(placed)
    yield from _loops(placed)
    for panel in placed.panels:
        yield from _panel(placed, panel)


def _panel(placed: MapFrame, panel: Panel) -> Iterator[str]:
    drawing = panel.drawing
    for rectangle in drawing.rectangles:
        yield _rectangle(placed, panel, rectangle)
    outlined = placed.drawn.outlined(drawing)
    yield from (outline(placed.box(panel, r)) for r in drawing.rectangles if r.buffer in outlined)
    added = [placed.y(placed.time.top(point)) for point in drawing.plan.barriers]
    yield from (_barrier(placed, panel, barrier) for barrier in placed.drawn.barriers)
    yield from (_added_barrier(placed, panel, y) for y in added)
    for rectangle, found in zip(drawing.rectangles, _labels(placed, panel)):
        if found is not None:
            yield _label_text(found, rectangle.buffer)
    for number, line in enumerate(clique_lines(placed, panel)):
        yield text_at(panel.left, placed.bottom + 20 + LINE * number, line, "ink")


def _ground(placed: MapFrame, panel: Panel) -> Iterator[str]:
    """Title, byte axis, and the bytes that the layout does not need."""
    drawing, left, top = panel.drawing, panel.left, placed.top
    right = placed.x(panel, drawing.plan.bytes)
    room = placed.panel_width
    heading = top - 38 - LINE * max(len(panel.note) for panel in placed.panels)
    total = f"{placed.drawn.bytes_text(drawing.plan.bytes)} B"
    yield text_at(left, heading, drawing_title(drawing), "ink", size=14.0, bold=True)
    yield text_at(left + room, heading, total, "ink", size=14.0, bold=True, anchor="end")
    for number, line in enumerate(panel.note, start=1):
        yield text_at(left, heading + LINE * number, line, "muted")
    height = placed.bottom - top
    yield element(
        "rect",
        {
            "class": "well",
            "x": left,
            "y": top,
            "width": right - left,
            "height": height,
            "fill": LIGHT["well"],
        },
    )
    if right < left + room - 0.5:
        free = {"x": right, "y": top, "width": left + room - right, "height": height, "fill": "url(#free)"}
        yield element("rect", free)
    taken: list[tuple[float, float]] = []
    for byte in tick_bytes(drawing):
        x = placed.x(panel, byte)
        text = placed.drawn.bytes_text(byte)
        half = text_width(text, SMALL) / 2
        middle = min(max(x, left + half), left + room - half)
        if all(middle + half + 6 <= low or middle - half - 6 >= high for low, high in taken):
            taken.append((middle - half, middle + half))
            yield text_at(middle, top - 10, text, "muted", size=SMALL, mono=True, anchor="middle")
            yield stroke(f"M{x:.2f} {top - 5:.2f}V{placed.bottom:.2f}", "grid")
        else:
            yield stroke(f"M{x:.2f} {top - 3:.2f}V{top:.2f}", "grid")
    if drawing.dynamic_at:
        x = placed.x(panel, drawing.dynamic_at)
        yield stroke(f"M{x:.2f} {top - 4:.2f}V{placed.bottom + 4:.2f}", "muted", width=2.0, title=DYNAMIC)


def _code(placed: MapFrame) -> Iterator[str]:
    for number, row in enumerate(placed.time.rows):
        y = placed.y(number + 0.5) + 4
        if row.line is None:
            yield text_at(placed.code, y, f"⋯ {row.skipped} lines", "muted", size=SMALL)
            continue
        yield text_at(placed.numbers, y, str(row.line), "muted", size=SMALL, mono=True, anchor="end")
        text = shortened(row.text, placed.code_width, TEXT)
        if text:
            yield text_at(placed.code, y, text, "muted" if row.called else "ink", mono=True)


def _some_numbers(placed: MapFrame) -> Iterator[str]:
    """Line numbers where a line is too low for text: those that do not touch."""
    free = placed.top
    for number, row in enumerate(placed.time.rows):
        y = placed.y(number + 0.5)
        if row.line is not None and y - SMALL / 2 >= free:
            yield text_at(placed.numbers, y + 4, str(row.line), "muted", size=SMALL, mono=True, anchor="end")
            free = y + SMALL / 2 + 2


def _loops(placed: MapFrame) -> Iterator[str]:
    for loop in placed.time.loops:
        x = placed.loops + loop.depth * LOOP + 3
        top, bottom = placed.y(loop.top) + 3, placed.y(loop.bottom) - 3
        if bottom - top >= 4:
            yield stroke(
                f"M{x + 5:.2f} {top:.2f}H{x:.2f}V{bottom:.2f}H{x + 5:.2f}",
                "muted",
                title=f"loop at line {loop.line}",
            )


def _rectangle(placed: MapFrame, panel: Panel, rectangle: Rectangle) -> str:
    box = placed.box(panel, rectangle)
    words = "\n".join(map(escaped, rectangle_words(placed.drawn, panel.drawing, rectangle)))
    shape = inside(box, 0.75)
    shade = rectangle.buffer
    parts = [
        element("title", {}, words),
        element(
            "rect",
            {**shape, "rx": 3, "fill": FILLS[fill(shade)], "stroke": "#14171b", "stroke-opacity": "0.35"},
        ),
    ]
    if texture(shade):
        parts.append(element("rect", {**shape, "rx": 3, "fill": f"url(#t{texture(shade)})"}))
    data = {
        "data-buffer": placed.drawn.names[rectangle.buffer],
        "data-allocator": panel.drawing.plan.allocator,
        "data-barriers-added": panel.drawing.added,
        "data-first": rectangle.first,
        "data-last": rectangle.last,
        "data-offset": placed.drawn.bytes_value(rectangle.offset),
        "data-bytes": placed.drawn.bytes_value(rectangle.size),
    }
    return element("g", data, *parts)


def _barrier(placed: MapFrame, panel: Panel, barrier: BlockBarrier) -> str:
    y = placed.middle(barrier.point)
    path = f"M{panel.left - 4:.2f} {y:.2f}H{panel.left + placed.panel_width + 4:.2f}"
    dash = None if barrier.proved else "2 4"
    width = 1.25 if placed.legible else 0.75
    return stroke(path, "barrier", width=width, dash=dash, title=barrier_words(barrier))


def _added_barrier(placed: MapFrame, panel: Panel, y: float) -> str:
    right = panel.left + placed.panel_width
    plus = text_at(right + 6, y + 4, "+", "added", size=14.0, bold=True)
    through = stroke(
        f"M{panel.left - 4:.2f} {y:.2f}H{right + 4:.2f}", "added", width=2.0, title="added barrier"
    )
    return through + plus


def unlabelled(placed: MapFrame) -> list[int]:
    """Buffers that have a rectangle with no room for their name."""
    found = {
        rectangle.buffer
        for panel in placed.panels
        for rectangle, label_ in zip(panel.drawing.rectangles, _labels(placed, panel))
        if label_ is None
    }
    return sorted(found)


def _labels(placed: MapFrame, panel: Panel) -> list[MapLabel | None]:
    """The label of each rectangle of a panel."""
    crossings = [placed.middle(barrier.point) for barrier in placed.drawn.barriers]
    crossings += [placed.y(placed.time.top(point)) for point in panel.drawing.plan.barriers]
    names = placed.drawn.names
    return [
        label(placed.box(panel, r), names[r.buffer], f"{placed.drawn.bytes_text(r.size)} B", crossings, TEXT)
        for r in panel.drawing.rectangles
    ]


def _label_text(found: MapLabel, shade: int) -> str:
    halo = {
        "stroke": FILLS[fill(shade)],
        "stroke-width": 3,
        "stroke-linejoin": "round",
        "paint-order": "stroke",
    }
    look = {
        "class": "on",
        "fill": LIGHT["on"],
        "font-family": MONO,
        "text-anchor": "middle",
        "pointer-events": "none",
        **(halo if texture(shade) else {}),
    }
    if found.upright:
        turn = f"rotate(-90 {found.x:.2f} {found.y:.2f})"
        place = {"x": found.x, "y": found.y + TEXT * 0.35, "transform": turn}
        return element("text", {**place, **look}, escaped(found.lines[0]))
    first = found.y + TEXT * 0.35 - (len(found.lines) - 1) * TEXT * 0.625
    lines = [
        element(
            "tspan", {"x": found.x, "y": first + number * TEXT * 1.25, "font-weight": weight}, escaped(line)
        )
        for number, (line, weight) in enumerate(zip(found.lines, ("600", "400")))
    ]
    return element("text", look, *lines)


def clique_lines(placed: MapFrame, panel: Panel) -> list[str]:
    proof = placed.drawn.proof(panel.drawing)
    words = "" if proof is None else clique(placed.drawn, proof).replace("`", "")
    return wrapped(words, placed.panel_width, TEXT * SANS)
