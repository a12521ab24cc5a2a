"""What the SVG maps are made of: text, lines, patterns, and the colours of both themes.

Every colour stands in an attribute, light, and again in the style sheet, where the theme of the reader decides.
"""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.output.map_colours import DARK, LIGHT, variables
from smem_lsp.output.map_labels import Box
from smem_lsp.output.markup import element, escaped

MONO = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace"
SANS_SERIF = "system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','DejaVu Sans',sans-serif"


def css() -> str:
    fills = "".join(
        f".{name}{{fill:var(--{name})}}" for name in ("bg", "ink", "muted", "well", "on", "added")
    )
    lines = "".join(
        f".s-{name}{{stroke:var(--{name})}}" for name in ("bg", "grid", "ink", "muted", "barrier", "added")
    )
    dark = f"@media (prefers-color-scheme:dark){{svg{{{variables(DARK)}}}}}"
    return f"svg{{{variables(LIGHT)}}}{dark}{fills}{lines}text{{white-space:pre}}"


def patterns() -> Iterator[str]:
    for number, path in enumerate(("M-1 5L5-1M3 9L9 3", "M-1 3L5 9M3-1L9 5", "M0 4H8", "M4 0V8"), start=1):
        look = {"stroke": LIGHT["on"], "stroke-opacity": "0.35", "stroke-width": "1.4"}
        yield _pattern(f"t{number}", 8, element("path", {"d": path, **look}))
    yield _pattern("free", 10, stroke("M-1 1L1-1M0 10L10 0M9 11L11 9", "grid"))


def _pattern(name: str, size: int, inside: str) -> str:
    return element(
        "pattern", {"id": name, "width": size, "height": size, "patternUnits": "userSpaceOnUse"}, inside
    )


def text_at(
    x: float,
    y: float,
    text: str,
    look: str,
    *,
    size: float | None = None,
    bold: bool = False,
    mono: bool = False,
    anchor: str | None = None,
) -> str:
    attributes = {
        "class": look,
        "x": x,
        "y": y,
        "fill": LIGHT[look],
        "font-size": size,
        "font-weight": "600" if bold else None,
        "font-family": MONO if mono else None,
        "text-anchor": anchor,
    }
    return element("text", attributes, escaped(text))


def stroke(
    path: str, look: str, *, width: float = 1.0, dash: str | None = None, title: str | None = None
) -> str:
    attributes = {
        "class": f"s-{look}",
        "d": path,
        "fill": "none",
        "stroke": LIGHT[look],
        "stroke-width": width,
        "stroke-dasharray": dash,
    }
    path_ = element("path", attributes)
    return path_ if title is None else element("g", {}, element("title", {}, escaped(title)), path_)


def inside(box: Box, margin: float) -> dict[str, float]:
    """The attributes of ``box``, ``margin`` pixels smaller on all sides where it is large enough."""
    aside, down = (
        min(margin, (high - low) / 4) for low, high in ((box.left, box.right), (box.top, box.bottom))
    )
    return {
        "x": box.left + aside,
        "y": box.top + down,
        "width": box.right - box.left - 2 * aside,
        "height": box.bottom - box.top - 2 * down,
    }


def outline(box: Box) -> str:
    look = {
        "class": "s-ink",
        "fill": "none",
        "stroke": LIGHT["ink"],
        "stroke-width": 2.0,
        "pointer-events": "none",
    }
    return element("rect", {**inside(box, 1.0), "rx": 3, **look})
