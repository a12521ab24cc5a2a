"""Where the parts of a drawn map stand, in pixels: source lines, brackets of loops, one panel for each layout."""

from __future__ import annotations

from smem_lsp.output.layout_words import drawing_note
from smem_lsp.output.map_bytes import ByteAxis, byte_axis
from smem_lsp.output.map_labels import Box, text_width, wrapped
from smem_lsp.output.map_rows import TimeAxis, time_axis
from smem_lsp.output.memory_map import Drawing, MemoryMap, Rectangle
from smem_lsp.source.record import dataclass

MARGIN = 28.0
LINE = 19.0  # of running text
TEXT = 12.0  # font sizes
SMALL = 11.0
SANS = 0.56  # the advance of a letter that is not monospaced, of the font size, on average: to wrap lines
LOOP = 9.0  # width of the bracket of a loop

_SHOWN = 3  # layouts: declared, best, and the best with the fewest added barriers
_ROW = 20.0
_LEAST_ROW = 4.0
_MOST_HIGH = 1400.0  # all rows; they become lower where they would be higher together
_CODE = 400.0  # source text is cut off there
_PANEL = (300.0, 680.0)  # the least and the greatest width
_ALONE = 440.0  # the least width of a panel with none beside it
_LANE = 17.0  # of a panel for each buffer, up to the greatest width
_GAP = 30.0
_HEADING = 57.0  # title and byte axis over a panel, without the note


@dataclass(frozen=True, slots=True)
class Panel:
    """One layout. ``note``: lines of text under its title."""

    drawing: Drawing
    left: float
    note: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MapFrame:
    """``numbers``: right edge of the line numbers; ``code``, ``loops``: left edges; ``top``: of the first row."""

    drawn: MemoryMap
    time: TimeAxis
    scale: ByteAxis
    panels: tuple[Panel, ...]
    panel_width: float
    row: float
    numbers: float
    code: float
    code_width: float
    loops: float
    top: float

    @property
    def bottom(self) -> float:
        return self.y(len(self.time.rows))

    @property
    def width(self) -> float:
        return self.panels[-1].left + self.panel_width + MARGIN

    @property
    def legible(self) -> bool:
        """Are rows high enough for text?"""
        return self.row >= TEXT * 1.25

    def y(self, rows: float) -> float:
        return self.top + rows * self.row

    def middle(self, point: int) -> float:
        top, bottom = self.time.spans[point]
        return self.y((top + bottom) / 2)

    def x(self, panel: Panel, byte: int) -> float:
        return panel.left + self.scale.at(byte) * self.panel_width

    def box(self, panel: Panel, rectangle: Rectangle) -> Box:
        return Box(
            self.x(panel, rectangle.offset),
            self.y(self.time.top(rectangle.first)),
            self.x(panel, rectangle.end),
            self.y(self.time.bottom(rectangle.last)),
        )


def frame(drawn: MemoryMap, top: float) -> MapFrame | None:
    """The frame of a map whose panels begin ``top`` pixels down; None where there is nothing to draw."""
    if not drawn.worth_drawing:
        return None
    drawings = drawn.worth_drawing[:_SHOWN]
    time = time_axis(drawn)
    row = max(_LEAST_ROW, min(_ROW, _MOST_HIGH / len(time.rows)))
    legible = row >= TEXT * 1.25
    longest = max((text_width(line.text, TEXT) for line in time.rows), default=0.0)
    code_width = min(_CODE, longest) if legible else 0.0
    numbers = MARGIN + max(text_width(str(line.line or ""), SMALL) for line in time.rows)
    code = numbers + 14
    depth = max((loop.depth + 1 for loop in time.loops), default=0)
    loops = code + code_width + 10
    lanes = max(len({r.offset for r in drawing.rectangles}) for drawing in drawings)
    width = min(_PANEL[1], max(_PANEL[0] if len(drawings) > 1 else _ALONE, lanes * _LANE))
    notes = tuple(tuple(wrapped(drawing_note(drawn, drawing), width, TEXT * SANS)) for drawing in drawings)
    left = loops + depth * LOOP + 12
    panels = tuple(
        Panel(drawing, left + place * (width + _GAP), note)
        for place, (drawing, note) in enumerate(zip(drawings, notes))
    )
    return MapFrame(
        drawn,
        time,
        byte_axis(drawings),
        panels,
        width,
        row,
        numbers,
        code,
        code_width,
        loops,
        top + _HEADING + LINE * max(map(len, notes)),
    )
