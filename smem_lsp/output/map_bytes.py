"""The byte axis of a drawn map: one scale for all layouts, so that saved bytes can be seen."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise

from smem_lsp.output.memory_map import Drawing, Rectangle
from smem_lsp.source.record import dataclass

# Of the axis, what a buffer takes at least: one of 4 bytes can be seen beside one of 32 KiB.
_LEAST = 0.07
_LEAST_TOGETHER = 0.9  # of the axis: what the widened ones take together at most


@dataclass(frozen=True, slots=True)
class ByteAxis:
    """``edges``: bytes, ascending; ``places``: where they are drawn, 0 to 1. Between two edges it is linear."""

    edges: tuple[int, ...]
    places: tuple[float, ...]
    to_scale: bool

    def at(self, byte: int) -> float:
        """Where ``byte`` is drawn. It lies between the first and the last edge."""
        right = min(max(bisect_right(self.edges, byte), 1), len(self.edges) - 1)
        low, high = self.edges[right - 1], self.edges[right]
        begin, end = self.places[right - 1], self.places[right]
        return begin + (end - begin) * (byte - low) / (high - low)


def byte_axis(drawings: Sequence[Drawing]) -> ByteAxis:
    """The axis of layouts with at least one byte."""
    rectangles = [rectangle for drawing in drawings for rectangle in drawing.rectangles]
    top = max(drawing.plan.bytes for drawing in drawings)
    edges = sorted({0, top, *(r.offset for r in rectangles), *(r.end for r in rectangles)})
    widths = [(high - low) / top for low, high in pairwise(edges)]
    floors = _floors(edges, widths, rectangles)
    together = sum(floors)
    if together > _LEAST_TOGETHER:
        floors = [floor * _LEAST_TOGETHER / together for floor in floors]
    widened = _widened(widths, floors)
    places = [0.0]
    for width in widened:
        places.append(places[-1] + width)
    places[-1] = 1.0
    return ByteAxis(tuple(edges), tuple(places), not any(floors))


def tick_bytes(drawing: Drawing) -> list[int]:
    """Bytes worth a number, the most important first: both ends, then the edges of the larger buffers."""
    by_size = sorted(drawing.rectangles, key=lambda r: (-r.size, r.offset))
    return list(
        dict.fromkeys((0, drawing.plan.bytes, *(edge for r in by_size for edge in (r.offset, r.end))))
    )


def _floors(edges: Sequence[int], widths: Sequence[float], rectangles: Iterable[Rectangle]) -> list[float]:
    """Least width of every stretch between two edges: those of a buffer too small to be seen share what it gets."""
    floors = [0.0] * len(widths)
    index_of = {edge: index for index, edge in enumerate(edges)}
    for low, high in sorted({(r.offset, r.end) for r in rectangles}):
        inside = range(index_of[low], index_of[high])
        width = sum(widths[index] for index in inside)
        if width < _LEAST:
            for index in inside:
                floors[index] = max(floors[index], _LEAST * widths[index] / width)
    return floors


def _widened(widths: Sequence[float], floors: Sequence[float]) -> list[float]:
    """``widths`` with no stretch under its floor; the others give, in proportion, what that takes."""
    left = 1 - sum(floors)
    free = sum(width for width, floor in zip(widths, floors) if not floor)
    if not free:
        return [floor / sum(floors) for floor in floors]
    return [floor or width * left / free for width, floor in zip(widths, floors)]
