"""Colours of a drawn map.

The fills are Paul Tol's "light" scheme, made for labels in black on top and for eyes that confuse colours; after the
last one they begin again with lines across (Tol, Colour Schemes, SRON/EPS/TN/09-002).
"""

from __future__ import annotations

FILLS = ("#77aadd", "#ee8866", "#44bb99", "#ffaabb", "#eedd88", "#99ddff", "#bbcc33", "#aaaa00")

LIGHT = {
    "bg": "#ffffff",
    "ink": "#1b1f24",
    "muted": "#5c6570",
    "well": "#f2f4f7",
    "grid": "#d5dae1",
    "barrier": "#39424e",
    "added": "#b0005a",
    "on": "#14171b",
    "focus": "#0a5cd6",
}
DARK = {
    "bg": "#15181d",
    "ink": "#e9ecf0",
    "muted": "#9aa5b1",
    "well": "#1f242b",
    "grid": "#37404a",
    "barrier": "#c3ccd6",
    "added": "#ff7ab8",
    "on": "#14171b",
    "focus": "#6cb2ff",
}


def fill(shade: int) -> int:
    """Which of ``FILLS`` the buffer at this place in the kernel has."""
    return shade % len(FILLS)


def texture(shade: int) -> int:
    """0: plain; 1 to 4: lines across, each in another direction."""
    return shade // len(FILLS) % 5


def variables(colours: dict[str, str]) -> str:
    """The colours as declarations of CSS custom properties."""
    return ";".join(f"--{name}:{value}" for name, value in colours.items())
