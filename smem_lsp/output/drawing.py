"""Blocks of bytes over program lines, drawn with characters.

::

    8,192 ┤·············▒▒▒▒▒ Cs ▒▒▒▒▒
    4,096 ┤▓▓▓▓ Bs ▓▓▓▓···············
    2,048 ┤████ As ████···············
        0 └───────────────────────────
           13           24         28
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from smem_lsp.output.style import Style
from smem_lsp.source.record import dataclass

_FILLS = {True: "█▓▒", False: "#%="}
_DEAD = {True: "·", False: "."}
_AXIS = {True: ("┤", "└", "─"), False: ("|", "+", "-")}
_MARK = {True: "▲", False: "^"}

_MAX_COLUMNS_PER_LINE = 4
_LABEL_COLUMNS = 10  # to the right of a drawing
_ROWS = 12  # of the higher layout, unless it has more bands


@dataclass(frozen=True, slots=True)
class DrawnBlock:
    """Bytes ``offset`` to ``offset + size``, in use on the 1-based lines ``first`` to ``last``."""

    name: str
    first: int
    last: int
    offset: int
    size: int
    shade: int = 0  # blocks of one buffer look alike in every layout


@dataclass(frozen=True, slots=True)
class Scale:
    """Which columns a line takes, and how many bytes a row stands for; ``texts``: what is printed for a byte, where
    that is not its number."""

    first: int
    last: int
    columns: int
    row_bytes: int
    gutter: int
    texts: Mapping[int, str]

    def text(self, byte: int) -> str:
        return self.texts.get(byte, f"{byte:,}")

    def start(self, line: int) -> int:
        return (min(max(line, self.first), self.last + 1) - self.first) * self.columns // self._lines

    def stop(self, line: int) -> int:
        """Exclusive; a line always takes a column."""
        return max(self.start(line + 1), self.start(line) + 1)

    @property
    def _lines(self) -> int:
        return self.last - self.first + 1


def make_scale(blocks: Sequence[DrawnBlock], top: int, width: int, texts: Mapping[int, str]) -> Scale:
    """A scale that holds all ``blocks`` of layouts up to ``top`` bytes in ``width`` columns."""
    first, last = min(block.first for block in blocks), max(block.last for block in blocks)
    gutter = max(len(f"{top:,}"), *map(len, texts.values())) if texts else len(f"{top:,}")
    room = max(20, width - gutter - 4 - _LABEL_COLUMNS)
    columns = min(room, (last - first + 1) * _MAX_COLUMNS_PER_LINE)
    return Scale(first, last, max(columns, min(room, 40)), max(1, -(-top // _ROWS)), gutter, texts)


def draw(blocks: Sequence[DrawnBlock], top: int, scale: Scale, style: Style) -> list[str]:
    """One layout from ``top`` bytes at the upper edge down to 0."""
    tick, corner, rule = _AXIS[style.unicode]
    edges = sorted({0, top, *(b.offset for b in blocks), *(b.offset + b.size for b in blocks)})
    rows: list[str] = []
    bands = list(pairwise(edges))
    named = {id(block): _label_band(block, bands) for block in blocks}
    for low, high in reversed(bands):
        inside = [block for block in blocks if block.offset <= low and high <= block.offset + block.size]
        height = max(1, min(_ROWS, round((high - low) / scale.row_bytes)))
        for row in range(height):
            labelled = [b for b in inside if named[id(b)] == (low, high)] if row == (height - 1) // 2 else []
            edge = f"{scale.text(high):>{scale.gutter}} {tick}" if row == 0 else f"{'':{scale.gutter}} {tick}"
            rows.append("  " + edge + _row(inside, labelled, scale, style))
    rows.append(f"  {0:>{scale.gutter}} {corner}{rule * scale.columns}")
    return rows


def line_axis(scale: Scale, lines: Sequence[int], style: Style) -> str:
    """Line numbers under a drawing, those that do not collide; the first and the last come first."""
    cells = [" "] * (scale.columns + 8)
    for line in dict.fromkeys((scale.first, scale.last, *lines)):
        text = str(line)
        start = scale.start(line)
        around = cells[max(0, start - 1) : start + len(text) + 1]
        if all(cell == " " for cell in around):
            cells[start : start + len(text)] = text
    return f"  {'line':>{scale.gutter}}  {''.join(cells).rstrip()}"


def mark_axis(scale: Scale, lines: Sequence[int], label: str, style: Style) -> str:
    """A row with a mark in the first column of each of ``lines``."""
    cells = [" "] * scale.columns
    for line in lines:
        if scale.first <= line <= scale.last:
            cells[min(scale.start(line), scale.columns - 1)] = _MARK[style.unicode]
    return f"  {'':{scale.gutter}}  {''.join(cells)}  {label}".rstrip()


def bars(values: Mapping[str, int], width: int, style: Style, text: Callable[[int], str]) -> list[str]:
    """One bar per value, the longest ``width`` columns. ``text``: of a value."""
    most = max(values.values(), default=0)
    gutter = max((len(name) for name in values), default=0)
    fill = _FILLS[style.unicode][0]
    return [
        f"  {name:>{gutter}}  {fill * max(1, round(value * width / most) if most else 1)} {text(value)} B"
        for name, value in values.items()
    ]


def _label_band(block: DrawnBlock, bands: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The band that carries the name: the widest one of the block."""
    own = [band for band in bands if block.offset <= band[0] and band[1] <= block.offset + block.size]
    return max(own, key=lambda band: band[1] - band[0])


def _row(inside: Sequence[DrawnBlock], labelled: Sequence[DrawnBlock], scale: Scale, style: Style) -> str:
    cells = [_DEAD[style.unicode]] * scale.columns
    fills = _FILLS[style.unicode]
    for block in inside:
        start, stop = scale.start(block.first), scale.stop(block.last)
        cells[start:stop] = fills[block.shade % len(fills)] * (stop - start)
    for block in labelled:
        start, stop = scale.start(block.first), scale.stop(block.last)
        label = f" {block.name} "
        if len(label) <= stop - start:
            begin = start + (stop - start - len(label)) // 2
            cells[begin : begin + len(label)] = label
    return "".join(cells)
