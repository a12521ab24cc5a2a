"""XML and HTML text: escaped, and free of what neither may hold."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from smem_lsp.output.style import shown
from smem_lsp.source.regex import regex

# XML 1.0 knows no way to write these, and format characters would reorder what is read.
_FORBIDDEN = regex("[\ufffe\uffff]")

_EMPTY = frozenset(("circle", "input", "path", "rect"))  # HTML closes no other element by a slash

Attributes = Mapping[str, Any]  # str, int, float or None


def escaped(text: str) -> str:
    """``text`` for an element or a quoted attribute; control characters are made visible."""
    return escape(_FORBIDDEN.sub("\ufffd", shown(text)), quote=True)


def element(name: str, attributes: Attributes, *inside: str) -> str:
    """``<name …>inside</name>``. Attributes that are None are left out; ``inside`` is markup already."""
    written = "".join(
        f' {key}="{number(value) if isinstance(value, float) else escaped(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    content = "".join(inside)
    return f"<{name}{written}/>" if name in _EMPTY else f"<{name}{written}>{content}</{name}>"


def number(value: float) -> str:
    """At most two decimals, none where they are zero."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
