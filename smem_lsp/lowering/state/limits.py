"""Where the understanding of a kernel ends."""

from __future__ import annotations

from dataclasses import field

from smem_lsp.ir.causes import Cause, CauseKind, Opens
from smem_lsp.ir.nodes import PresumedCall
from smem_lsp.ir.places import Row
from smem_lsp.source.record import dataclass


@dataclass
class LimitsFound:
    """What was not understood by now, in order. ``unknown_accesses``: to shared memory that may be missing, at least;
    ``opaque``: points, rising, of calls that may wait for other threads; ``presumed``: those of which nothing says that
    they do."""

    found: list[Cause] = field(default_factory=list)
    unknown_accesses: int = 0
    opaque: list[int] = field(default_factory=list)
    presumed: dict[int, PresumedCall] = field(default_factory=dict)

    def note(
        self,
        kind: CauseKind,
        line: Row | None = None,
        *names: str,
        of: Cause | None = None,
        accesses: int = 0,
    ) -> None:
        """``accesses``: to shared memory that are not seen because of it, at least."""
        self.found.append(Cause(kind, line, names, () if of is None else (of,)))
        self.unknown_accesses += accesses

    def opens(self, what: Opens) -> bool:
        return any(each.opens & what for each in self.found)

    def takes_for_granted(self, kind: CauseKind, *names: str) -> bool:
        """Is this noted already?"""
        return Cause(kind, None, names) in self.found
