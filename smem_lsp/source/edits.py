"""Text edits on offsets of one text version."""

from __future__ import annotations

from collections.abc import Iterable

from smem_lsp.source.record import dataclass
from smem_lsp.source.text import Span


class OverlapError(ValueError):
    """Two edits touch the same characters."""


@dataclass(frozen=True, slots=True, order=True)
class TextEdit:
    """Replace ``span`` by ``text``; an empty span inserts."""

    span: Span
    text: str


def apply_edits(text: str, edits: Iterable[TextEdit]) -> str:
    """Apply edits that all refer to ``text``. Raises OverlapError if two of them overlap."""
    parts: list[str] = []
    position = 0
    for edit in sorted(edits, key=lambda e: (e.span.start, e.span.end)):
        if edit.span.start < position or edit.span.end > len(text):
            raise OverlapError(f"edit at {edit.span.start} overlaps an earlier one or leaves the text")
        parts.append(text[position : edit.span.start])
        parts.append(edit.text)
        position = edit.span.end
    parts.append(text[position:])
    return "".join(parts)
