"""A fix: edits with a promise."""

from __future__ import annotations

import enum

from smem_lsp.source import TextEdit
from smem_lsp.source.record import dataclass


class Safety(enum.Enum):
    SAFE = "safe"  # every access resolved, plan validated, every barrier proved
    UNSAFE = "unsafe"  # something was assumed; the title says what
    DISPLAY = "display"  # shown, never applied by a tool; the title says why


@dataclass(frozen=True, slots=True)
class Fix:
    """``edits`` refer to the checked text. A display fix may have none: then its title is the reason.
    ``static_bytes``: what ptxas will report for the kernel afterwards, where the title names it. ``broken``: why a
    compiler made us withdraw it although we had promised otherwise: a mistake of ours."""

    title: str
    safety: Safety
    edits: tuple[TextEdit, ...]
    static_bytes: int | None = None
    broken: str | None = None
