"""The memory map as one HTML file that loads nothing: source lines, and beside them the layouts on the same rows.

Byte positions are fractions, so a panel takes whatever width there is; heights are pixels. A click on a rectangle or a
barrier marks its lines, and goes there in VS Code. The page's content security policy names its style and its script by
their hashes: nothing else may run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from smem_lsp.allocation.plan import Plan
from smem_lsp.engine.report import FileReport
from smem_lsp.output.layout_words import (
    DYNAMIC,
    TABLE_HEAD,
    TEXT_COLUMNS,
    barrier_words,
    clique,
    drawing_note,
    drawing_title,
    headline,
    occupancy,
    rectangle_words,
    remarks,
    table,
)
from smem_lsp.output.map_bytes import ByteAxis, byte_axis, tick_bytes
from smem_lsp.output.map_colours import fill, texture
from smem_lsp.output.map_labels import CUT, Box, label, text_width
from smem_lsp.output.map_rows import TimeAxis, time_axis
from smem_lsp.output.markup import element, escaped, number
from smem_lsp.output.memory_map import Drawing, MemoryMap, Rectangle, memory_map
from smem_lsp.output.page_style import TEXT, WIDTHS, StyleRules, beside, source_hash, style_sheet
from smem_lsp.output.staircase import HEIGHT, STAIRS_TITLE, Stairs, chart, staircases
from smem_lsp.output.style import width as columns
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.source.record import dataclass

_ROW = 20.0  # pixels, as in the style sheet
_SMALL = 11.0
_CHART = 380.0


def render(report: FileReport, indices: Sequence[int]) -> str:
    """The page with the maps of the kernels with these indices."""
    rules = StyleRules()
    maps = [memory_map(report, index, in_terms=True) for index in indices]
    sections = [
        _section(drawn, place, rules, report.facts[index])
        for place, (drawn, index) in enumerate(zip(maps, indices))
    ]
    names = ", ".join(dict.fromkeys(drawn.kernel.name for drawn in maps))
    style, script = style_sheet(rules), beside("layout_page.js")
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; "
        f"style-src '{source_hash(style)}'; script-src '{source_hash(script)}'"
    )
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{escaped(f'Shared memory of {names}')}</title>",
        f"<style>{style}</style>",
        "</head>",
        "<body>",
        "<main>",
        *sections,
        "</main>",
        '<output id="status"></output>',
        '<div id="tip" role="tooltip" hidden></div>',
        f"<script>{script}</script>",
        "</body>",
        "</html>",
    ]
    return "\n".join(lines) + "\n"


def _section(drawn: MemoryMap, place: int, rules: StyleRules, facts: KernelFacts) -> str:
    name = drawn.kernel.instance or drawn.kernel.name
    head = [
        element("h1", {"id": f"k{place}"}, escaped(name)),
        element("p", {"class": "where"}, escaped(f"{drawn.source.path}:{drawn.kernel.line}")),
        *_by_choice(drawn, lambda chosen: _facts(drawn, facts, chosen)),
    ]
    parts = [element("header", {}, *head)]
    if drawn.worth_drawing:
        parts += _picture(drawn, place, rules)
    parts += _by_choice(drawn, lambda chosen: _charts(staircases(facts, _static_plan(drawn, chosen))))
    if drawn.kernel.buffers:
        parts += _by_choice(drawn, lambda chosen: _table(drawn, chosen))
    if said := remarks(drawn):
        items = (element("li", {}, _with_code(remark.strip())) for remark in said)
        parts.append(element("ul", {"class": "remarks"}, *items))
    return element(
        "section", {"class": "kernel", "aria-labelledby": f"k{place}"}, "\n", *(f"{p}\n" for p in parts)
    )


def _by_choice(drawn: MemoryMap, part: Callable[[Drawing | None], str]) -> Iterator[str]:
    """A part of the page, once for each layout that the switch chooses from; once where there is no switch."""
    others = drawn.worth_drawing[1:]
    if len(others) < 2:
        text = part(None)
        if text:
            yield text
        return
    for order, chosen in enumerate(others):
        if text := part(chosen):
            yield element("div", {"class": f"q{order}"}, text)


def _static_plan(drawn: MemoryMap, chosen: Drawing | None) -> Plan | None:
    """The plan of a layout of static buffers; None: of what is smallest, which holds for ranges too."""
    return None if chosen is None or drawn.dynamic_base is not None else chosen.plan


def _facts(drawn: MemoryMap, facts: KernelFacts, chosen: Drawing | None) -> str:
    rows = drawn.report.occupancy
    plan = _static_plan(drawn, chosen)
    if plan is not None:
        after = {row.arch: facts.blocks(row, facts.total(plan.bytes)) for row in facts.occupied}
        rows = tuple(replace(row, blocks_after=after.get(row.arch, row.blocks_after)) for row in rows)
    said = [element("p", {"class": "facts"}, escaped(occupancy(row))) for row in rows]
    return element("p", {"class": "headline"}, escaped(headline(drawn, chosen=chosen))) + "".join(said)


def _picture(drawn: MemoryMap, place: int, rules: StyleRules) -> Iterator[str]:
    declared, *others = drawn.worth_drawing
    sheet = _LayoutSheet(drawn, time_axis(drawn), byte_axis(drawn.worth_drawing), rules)
    if len(others) > 1:
        rules.alternatives = max(rules.alternatives, len(others))
        yield _switch(drawn, others, place)
    depth = max((loop.depth + 1 for loop in sheet.time.loops), default=0)
    digits = max(len(str(row.line or "")) for row in sheet.time.rows)
    shape = {"--panels": str(1 + bool(others)), "--depth": str(depth), "--digits": f"calc({digits}ch + 12px)"}
    parts = [*_code(sheet), *_panel(sheet, declared, "c1")]
    for order, other in enumerate(others):
        parts += _panel(sheet, other, f"c2 q{order}" if len(others) > 1 else "c2")
    yield element("div", {"class": f"map {rules.place(**shape)}"}, "\n", *(f"{part}\n" for part in parts))
    yield _legend(sheet)


@dataclass(frozen=True, slots=True)
class _LayoutSheet:
    """What all layouts of one kernel are drawn on."""

    drawn: MemoryMap
    time: TimeAxis
    scale: ByteAxis
    rules: StyleRules

    @property
    def height(self) -> float:
        return len(self.time.rows) * _ROW

    def middle(self, point: int) -> float:
        return sum(self.time.spans[point]) / 2 * _ROW

    def percent(self, byte: int) -> str:
        return f"{number(self.scale.at(byte) * 100)}%"


def _charts(found: Sequence[Stairs]) -> str:
    if not found:
        return ""
    pictures = [
        element(
            "svg",
            {
                "viewBox": f"0 0 {_CHART:.0f} {HEIGHT:.0f}",
                "role": "img",
                "aria-label": stairs.words,
                "width": f"{_CHART:.0f}",
                "height": f"{HEIGHT:.0f}",
            },
            *chart(stairs, 0.0, 0.0, _CHART),
        )
        for stairs in found
    ]
    caption = element("figcaption", {}, STAIRS_TITLE)
    return element("figure", {"class": "stairs"}, caption, *pictures)


def _switch(drawn: MemoryMap, others: Sequence[Drawing], place: int) -> str:
    choices = []
    for order, drawing in enumerate(others):
        attributes = {
            "type": "radio",
            "name": f"k{place}",
            "value": order,
            "checked": None if order else "checked",
        }
        words = f"{drawing_title(drawing)}, {drawn.bytes_text(drawing.plan.bytes)} B"
        choices.append(element("label", {}, element("input", attributes), escaped(words)))
    legend = element("legend", {}, "Beside the declared layout")
    return element("fieldset", {"class": "switch"}, legend, *choices)


def _code(sheet: _LayoutSheet) -> Iterator[str]:
    """The rows of the time axis with their source lines, and the brackets of loops."""
    parts: list[str] = []
    for row in sheet.time.rows:
        if row.line is None:
            parts.append(
                element("div", {"class": "row skip"}, '<span class="n"></span>', f"⋯ {row.skipped} lines")
            )
            continue
        line = element("span", {"class": "n"}, str(row.line))
        text = f"<code>{escaped(row.text)}</code>"
        parts.append(
            element(
                "div", {"class": "row called" if row.called else "row", "data-line": row.line}, line, text
            )
        )
    yield element("div", {"class": "code c0", "role": "group", "aria-label": "source lines"}, *parts)
    brackets: list[str] = []
    for loop in sheet.time.loops:
        top, bottom = loop.top * _ROW + 3, loop.bottom * _ROW - 3
        if bottom - top >= 4:
            right = f"calc(9px*(var(--depth) - {loop.depth + 1}))"
            place = sheet.rules.place(top=top, height=bottom - top, right=right)
            brackets.append(
                element("div", {"class": f"loop {place}", "data-tip": f"loop at line {loop.line}"})
            )
    yield element("div", {"class": "loops c0"}, *brackets)


def _panel(sheet: _LayoutSheet, drawing: Drawing, column: str) -> Iterator[str]:
    drawn, rules = sheet.drawn, sheet.rules
    title, total = drawing_title(drawing), f"{drawn.bytes_text(drawing.plan.bytes)} B"
    heading = element("h2", {}, element("span", {}, escaped(title)), element("span", {}, total))
    note = element("p", {"class": "note"}, escaped(drawing_note(drawn, drawing)))
    yield element("div", {"class": f"title {column}"}, heading, note, *_apply(drawing))
    shown = _ticks(sheet, drawing)
    yield element("div", {"class": f"ticks {column}", "aria-hidden": "true"}, *(tick for _, tick in shown))
    parts: list[str] = []
    if sheet.percent(drawing.plan.bytes) != "100%":
        parts.append(element("div", {"class": f"free {rules.place(left=sheet.percent(drawing.plan.bytes))}"}))
    for byte, _ in shown:
        parts.append(element("div", {"class": f"guide {rules.place(left=sheet.percent(byte))}"}))
    if drawing.dynamic_at:
        place = rules.place(left=sheet.percent(drawing.dynamic_at))
        parts.append(element("div", {"class": f"dynamic {place}", "data-tip": DYNAMIC}))
    added = [sheet.time.top(point) * _ROW for point in drawing.plan.barriers]
    crossings = [*(sheet.middle(barrier.point) for barrier in drawn.barriers), *added]
    parts += [_bar(sheet, drawing, rectangle, crossings) for rectangle in drawing.rectangles]
    parts += _barriers(sheet, drawing)
    height = rules.place(height=sheet.height)
    label_ = f"{title}, {total}"
    yield element(
        "div",
        {"class": f"panel {column} {height}", "role": "group", "aria-label": label_},
        "\n",
        *(f"{p}\n" for p in parts),
    )
    proof = drawn.proof(drawing)
    if proof is not None and (words := clique(drawn, proof)):
        yield element("p", {"class": f"foot {column}"}, _with_code(words))


def _apply(drawing: Drawing) -> Iterator[str]:
    """A button that only a page with an editor behind it shows."""
    if drawing.plan.allocator != "declared":
        attributes = {"type": "button", "class": "apply", "data-apply": drawing.added, "hidden": "hidden"}
        yield element("button", attributes, "Apply…")


def _ticks(sheet: _LayoutSheet, drawing: Drawing) -> list[tuple[int, str]]:
    """Numbers of the byte axis. A wider panel shows more of them, always including those of a narrower one."""
    chosen: dict[int, str] = {}

    def extent(byte: int, width: float) -> tuple[float, float]:
        place, whole = sheet.scale.at(byte), text_width(sheet.drawn.bytes_text(byte), _SMALL) + 6
        low = place * width - whole * {" start": 0.0, " end": 1.0}.get(_edge(place), 0.5)
        return low, low + whole

    for width in WIDTHS:
        for byte in tick_bytes(drawing):
            low, high = extent(byte, width)
            taken = (extent(other, width) for other in chosen)
            if byte in chosen or any(low < end and start < high for start, end in taken):
                continue
            classes = (
                f"{sheet.rules.place(left=sheet.percent(byte))} w{width:.0f}{_edge(sheet.scale.at(byte))}"
            )
            chosen[byte] = element("span", {"class": classes}, escaped(sheet.drawn.bytes_text(byte)))
    return list(chosen.items())


def _edge(place: float) -> str:
    """The class of a number that would stick out of its panel if its middle were at ``place``, 0 to 1."""
    return " start" if place < 0.08 else " end" if place > 0.92 else ""


def _bar(sheet: _LayoutSheet, drawing: Drawing, rectangle: Rectangle, crossings: Sequence[float]) -> str:
    drawn, time = sheet.drawn, sheet.time
    top, bottom = time.top(rectangle.first) * _ROW, time.bottom(rectangle.last) * _ROW
    left, right = sheet.scale.at(rectangle.offset) * 100, sheet.scale.at(rectangle.end) * 100
    place = sheet.rules.place(
        left=f"calc({number(left)}% + .5px)",
        width=f"calc({number(right - left)}% - 1px)",
        top=top + 0.5,
        height=max(bottom - top - 1, 1.0),
    )
    shade = rectangle.buffer
    forced = rectangle.buffer in drawn.outlined(drawing)
    classes = ["bar", place, f"f{fill(shade)}", *([f"x{texture(shade)}"] if texture(shade) else [])]
    words = "\n".join(rectangle_words(drawn, drawing, rectangle))
    attributes = {
        "type": "button",
        "class": " ".join([*classes, *(["forced"] if forced else [])]),
        "aria-pressed": "false",
        "aria-label": words.replace("\n", ", "),
        "data-line": rectangle.first_line,
        "data-last": rectangle.last_line,
        "data-row": int(time.top(rectangle.first)),
        "data-last-row": max(int(time.top(rectangle.first)), -int(-time.bottom(rectangle.last) // 1) - 1),
        "data-buffer": drawn.names[rectangle.buffer],
        "data-allocator": drawing.plan.allocator,
        "data-barriers-added": drawing.added,
        "data-first": rectangle.first,
        "data-last-point": rectangle.last,
        "data-offset": drawn.bytes_value(rectangle.offset),
        "data-bytes": drawn.bytes_value(rectangle.size),
    }
    written = "".join(f' {key}="{escaped(str(value))}"' for key, value in attributes.items())
    tip = "&#10;".join(map(escaped, rectangle_words(drawn, drawing, rectangle)))
    return f'<button{written} data-tip="{tip}">{_labels(sheet, rectangle, (top, bottom), crossings)}</button>'


def _labels(
    sheet: _LayoutSheet, rectangle: Rectangle, heights: tuple[float, float], crossings: Sequence[float]
) -> str:
    """The name, level and upright: the style sheet shows the one for which the bar is wide enough."""
    name, size = sheet.drawn.names[rectangle.buffer], f"{sheet.drawn.bytes_text(rectangle.size)} B"
    top, bottom = heights
    level = label(Box(0, top, 1e6, bottom), name, size, crossings, TEXT)
    upright = label(Box(0, top, TEXT * 1.5, bottom), name, size, crossings, TEXT)
    length = columns(name)
    sheet.rules.lengths.add(("n", length))
    inside = f"<b>{escaped(name)}</b>"
    parts: list[str] = []
    if upright is not None and upright.upright:
        place = sheet.rules.place(top=upright.y - top)
        parts.append(element("span", {"class": f"lab v n{length} {place}"}, inside))
    if level is not None:
        if len(level.lines) > 1:
            sheet.rules.lengths.add(("m", columns(size)))
            inside += element("i", {"class": f"m{columns(size)}"}, size)
        place = sheet.rules.place(top=level.y - top)
        narrow = f"n{length}" if parts or length <= CUT else "cut"
        parts.append(element("span", {"class": f"lab h {narrow} {place}"}, inside))
    return "".join(parts)


def _barriers(sheet: _LayoutSheet, drawing: Drawing) -> Iterator[str]:
    for barrier in sheet.drawn.barriers:
        look = "barrier" if barrier.proved else "barrier unproved"
        words = barrier_words(barrier)
        row = int(sheet.time.top(barrier.point))
        yield _barrier(sheet, look, words, barrier.line, row, sheet.middle(barrier.point))
    for point in drawing.plan.barriers:
        top = sheet.time.top(point)
        line = (
            sheet.drawn.report.point_lines.get(point)
            or sheet.time.rows[int(top)].line
            or sheet.drawn.kernel.line
        )
        yield _barrier(
            sheet, "barrier added", f"added barrier before line {line}", line, int(top), top * _ROW
        )


def _barrier(sheet: _LayoutSheet, look: str, words: str, line: int, row: int, y: float) -> str:
    attributes = {
        "type": "button",
        "class": f"{look} {sheet.rules.place(top=y)}",
        "aria-label": words,
        "data-line": line,
        "data-row": row,
        "data-tip": words,
    }
    return element("button", attributes)


def _legend(sheet: _LayoutSheet) -> str:
    """The legend: what the lines in the drawing mean."""
    drawings = sheet.drawn.worth_drawing
    proved = {barrier.proved for barrier in sheet.drawn.barriers}
    entries = [
        ("barrier", "barrier", True in proved),
        ("unproved", "barrier that no layout counts on", False in proved),
        ("added", "added barrier", any(drawing.added for drawing in drawings)),
        ("dynamic", DYNAMIC, any(drawing.dynamic_at for drawing in drawings)),
        (
            "forced",
            "together they force the bytes",
            any(map(sheet.drawn.outlined, drawings)),
        ),
        ("free", "given back", len(drawings) > 1),
        ("scale", "small buffers are drawn wider than they are", not sheet.scale.to_scale),
    ]
    shown = (element("span", {"class": f"l-{name}"}, words) for name, words, there in entries if there)
    return element("p", {"class": "legend"}, *shown)


def _with_code(words: str) -> str:
    """A sentence; what stands between backticks is code."""
    pieces = words.split("`")
    return "".join(element("code", {}, escaped(p)) if at % 2 else escaped(p) for at, p in enumerate(pieces))


def _table(drawn: MemoryMap, chosen: Drawing | None) -> str:
    def cell(tag: str, column: int, inside: str) -> str:
        scope = "col" if tag == "th" else None
        return element(tag, {"class": "word" if column < TEXT_COLUMNS else None, "scope": scope}, inside)

    head = "".join(cell("th", column, escaped(words)) for column, words in enumerate(TABLE_HEAD))
    body: list[str] = []
    for row in table(drawn, chosen=chosen):
        buffer = drawn.kernel.buffers[row.buffer]
        line = drawn.source.line_number(drawn.kernel.places.start(buffer.declared))
        shade = f"chip f{fill(row.buffer)}" + (f" x{texture(row.buffer)}" if texture(row.buffer) else "")
        link = element(
            "button", {"type": "button", "class": "link", "data-line": line}, escaped(row.cells[0])
        )
        first = cell("td", 0, element("span", {"class": shade}) + link)
        others = (cell("td", column, escaped(words)) for column, words in enumerate(row.cells) if column)
        body.append(element("tr", {}, first, *others))
    whole = element("thead", {}, element("tr", {}, head)) + element("tbody", {}, *body)
    return element("div", {"class": "scroll"}, element("table", {}, whole))
