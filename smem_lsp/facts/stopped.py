"""What was left out of an analysis, and why."""

from __future__ import annotations

import enum

from smem_lsp.source import Span
from smem_lsp.source.record import dataclass

_START = Span(0, 0)


class Why(enum.Enum):
    """Why an analysis ended before its end."""

    TIME = "time"
    MEMORY = "memory"
    DEPTH = "nesting"
    DEFECT = "internal error"
    MANY = "too many"


@dataclass(frozen=True, slots=True)
class Stopped:
    """One analysis that has no result. ``what``: "data races", or "everything" of a kernel or file; ``kernel`` None: of
    the whole file. ``span``: where it is told; ``report``: of a defect of ours, a line to paste into a bug report;
    ``parts``: instances or contexts of the kernel, of which nothing was analysed."""

    what: str
    why: Why
    kernel: str | None = None
    span: Span = _START
    report: str | None = None
    parts: bool = False

    @property
    def words(self) -> str:
        """``data races of k: time``."""
        of = "" if self.kernel is None else f" of {self.kernel}"
        return f"{self.what}{of}: {self.why.value}"
