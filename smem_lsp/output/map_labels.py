"""Where names stand in a drawn map: inside their rectangle, and not across a barrier where there is room beside it.

Letters are measured as a monospaced font has them, a little too wide rather than too narrow.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from smem_lsp.output.style import width as columns
from smem_lsp.source.record import dataclass

_LETTER = 0.62  # of the font size: the advance of the common monospaced fonts is 0.55 to 0.602
_LINE = 1.25  # of the font size
CUT = 6  # letters of a name, the ellipsis counted: less than that is none


@dataclass(frozen=True, slots=True)
class Box:
    """Pixels from the left and from the top."""

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True)
class MapLabel:
    """Lines of text around the centre ``x``, ``y``; ``upright``: turned to read from the bottom up."""

    x: float
    y: float
    lines: tuple[str, ...]
    upright: bool = False


def text_width(text: str, size: float) -> float:
    """Pixels that ``text`` takes in a monospaced font of ``size`` pixels."""
    return columns(text) * size * _LETTER


def shortened(text: str, room: float, size: float) -> str:
    """``text``, cut off with an ellipsis where it is wider than ``room`` pixels."""
    if text_width(text, size) <= room:
        return text
    kept = ""
    for char in text:
        if text_width(kept + char + "…", size) > room:
            return kept.rstrip() + "…" if kept else ""
        kept += char
    return kept


def label(box: Box, name: str, more: str, crossings: Iterable[float], size: float) -> MapLabel | None:
    """The name, with ``more`` under it where both fit, in ``box``.

    ``crossings``: heights at which lines run through the box. None where not even the beginning of the name fits.
    """
    top, bottom = box.top, box.bottom
    wide, high = box.right - box.left - size * 0.5, bottom - top
    free = max(_stretches(top, bottom, crossings), key=lambda stretch: (stretch[1] - stretch[0], -stretch[0]))
    x, line = (box.left + box.right) / 2, size * _LINE

    def centre(room: float) -> float:
        """The middle of the largest free stretch if it has ``room`` pixels, else of the box."""
        return (free[0] + free[1]) / 2 if room <= free[1] - free[0] else (top + bottom) / 2

    if text_width(name, size) <= wide and high >= line:
        if text_width(more, size) <= wide and free[1] - free[0] >= 2 * line + 2:
            return MapLabel(x, centre(0), (name, more))
        return MapLabel(x, centre(line), (name,))
    if box.right - box.left >= line:
        for room in (free[1] - free[0], high):
            for text in (f"{name} {more}", name):
                length = text_width(text, size) + size * 0.5
                if length <= room:
                    return MapLabel(x, centre(length), (text,), upright=True)
    if high >= line and text_width("m" * CUT, size) <= wide:
        return MapLabel(x, centre(line), (shortened(name, wide, size),))
    return None


def _stretches(top: float, bottom: float, crossings: Iterable[float]) -> list[tuple[float, float]]:
    edges = [top, *sorted(y for y in crossings if top < y < bottom), bottom]
    return list(pairwise(edges))


def wrapped(text: str, room: float, letter: float) -> list[str]:
    """``text`` in lines of at most ``room`` pixels, words kept whole; ``letter``: pixels of one."""
    lines: list[str] = []
    for word in text.split():
        if lines and columns(f"{lines[-1]} {word}") * letter <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines
