"""What was left out of an analysis, and why."""

from __future__ import annotations

import enum

from smem_lsp.source import Span
from smem_lsp.source.record import dataclass

_START = Span(0, 0)
EVERYTHING, FINDINGS, DATA_FLOW = "everything", "findings", "data flow"
_FINDING = frozenset(
    {EVERYTHING, FINDINGS, DATA_FLOW, "data races", "decided races"}
)  # passes that find what is wrong


class Why(enum.Enum):
    """Why an analysis ended before its end."""

    EFFORT = "effort"
    TIME = "time"
    MEMORY = "memory"
    DEPTH = "nesting"
    DEFECT = "internal error"
    MANY = "too many"


OF_BUDGET = frozenset({Why.EFFORT, Why.TIME, Why.MEMORY})
"""A budget was used up; with a larger one there would be a result."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """One analysis that has no result. ``what``: "data races", or "everything" of a kernel or file; ``kernel`` None: of
    the whole file. ``span``: where it is told; ``report``: of a defect of ours, a line to paste into a bug report;
    ``parts``: instances or contexts of the kernel, of which nothing was analysed; ``matters``: shared memory or a
    barrier is concerned, as far as is known, and what is left out is not proved by other means."""

    what: str
    why: Why
    kernel: str | None = None
    span: Span = _START
    report: str | None = None
    parts: bool = False
    matters: bool = True

    @property
    def hides_findings(self) -> bool:
        """May an error or a warning be missing for want of a larger budget? Not where only a rewrite or a proof is."""
        return self.matters and self.why in OF_BUDGET and (self.parts or self.what in _FINDING)

    @property
    def words(self) -> str:
        """``data races of k: time``."""
        of = "" if self.kernel is None else f" of {self.kernel}"
        return f"{self.what}{of}: {self.why.value}"
