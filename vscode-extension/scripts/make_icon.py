"""Draws icon.png: three buffers over program time, the third in the bytes that the first no longer needs."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from pathlib import Path

SIDE = 128  # pixels
SAMPLES = 4  # per pixel and direction, against stair steps

Color = tuple[int, int, int]
Shape = Callable[[float, float], bool]

PAPER: Color = (20, 33, 27)
GRID: Color = (44, 66, 55)


def rounded(left: float, top: float, right: float, bottom: float, radius: float) -> Shape:
    """A rectangle with round corners, in pixels."""

    def inside(x: float, y: float) -> bool:
        if not (left <= x <= right and top <= y <= bottom):
            return False
        dx = max(left + radius - x, x - (right - radius), 0)
        dy = max(top + radius - y, y - (bottom - radius), 0)
        return dx * dx + dy * dy <= radius * radius

    return inside


# From back to front. The bars lie on two rows of bytes; the thin line between them is a barrier.
SHAPES: list[tuple[Shape, Color]] = [
    (rounded(4, 4, 124, 124, 24), PAPER),
    (rounded(22, 22, 106, 25, 1.5), GRID),
    (rounded(22, 62.5, 106, 65.5, 1.5), GRID),
    (rounded(22, 103, 106, 106, 1.5), GRID),
    (rounded(22, 31, 60, 57, 5), (98, 190, 140)),
    (rounded(22, 71, 88, 97, 5), (72, 149, 196)),
    (rounded(70, 31, 106, 57, 5), (240, 180, 60)),
    (rounded(63.6, 17, 66.4, 111, 1.4), (235, 240, 237)),
]


def pixel(column: int, row: int) -> bytes:
    """Red, green, blue, opacity: the mean over the samples of one pixel."""
    colors = [
        color_at(column + (i + 0.5) / SAMPLES, row + (j + 0.5) / SAMPLES)
        for i in range(SAMPLES)
        for j in range(SAMPLES)
    ]
    hit = [color for color in colors if color]
    if not hit:
        return bytes(4)
    red, green, blue = (round(sum(color[i] for color in hit) / len(hit)) for i in range(3))
    return bytes((red, green, blue, round(255 * len(hit) / len(colors))))


def color_at(x: float, y: float) -> Color | None:
    return next((color for shape, color in reversed(SHAPES) if shape(x, y)), None)


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png() -> bytes:
    rows = b"".join(b"\0" + b"".join(pixel(column, row) for column in range(SIDE)) for row in range(SIDE))
    header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 6, 0, 0, 0)  # 8 bits, red green blue opacity
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows, 9))
        + chunk(b"IEND", b"")
    )


if __name__ == "__main__":
    (Path(__file__).resolve().parents[1] / "icon.png").write_bytes(png())
