"""Where the interpreter stands: handed down from region to region, so that nothing has to be restored.

A ``RegionFrame`` is never changed. A region that needs another one makes it with ``replace`` and hands it down, and the
frame around the region is as it was, however the region ends. What a path changes as it goes on (its ``Path``, its
``Interval``, and the threads that have left its loop) is forked for a path that is only assumed: the fork is dropped at
its end.
"""

from __future__ import annotations

from dataclasses import field

from smem_lsp.analysis.execution.events import Decision, LoadGuard
from smem_lsp.analysis.execution.interval import Interval
from smem_lsp.source.record import dataclass


class Lost(Exception):
    """From here on it is not known which threads run what."""


@dataclass(slots=True)
class Path:
    """How far one path has come, and what brought its threads there.

    ``point``: the last program point; ``returned``: threads that have left the kernel; ``input_dependent``: some have
    left for a reason that depends on the kernel's inputs; ``symbols``: as bits, the symbols of the decisions around the
    point and of those that made threads leave; ``assumes_race_free``: what happens rests on values that all threads
    agree on as long as they do not race.
    """

    point: int = -1
    returned: set[int] = field(default_factory=set)
    input_dependent: bool = False
    symbols: int = 0
    assumes_race_free: bool = False

    def fork(self) -> Path:
        """A copy. Neither changes with the other."""
        return Path(
            self.point, set(self.returned), self.input_dependent, self.symbols, self.assumes_race_free
        )


@dataclass(frozen=True, slots=True)
class RegionFrame:
    """What holds for the instructions of one region.

    ``depth``: loops around it; ``broken``: threads that have left the innermost of them; ``barrier_free``: first and
    last point of the outermost loop around it that has no block barrier; ``decisions``: branches and loops around it
    that depend on the kernel's inputs, and the way each went; ``guard``: conditions around it that data decide;
    ``assumed``: this run need not come here; ``paired_arms``: inside a branch whose arms share their barriers.
    """

    path: Path
    interval: Interval
    depth: int = 0
    broken: set[int] = field(default_factory=set)
    barrier_free: tuple[int, int] | None = None
    decisions: frozenset[Decision] = frozenset()
    guard: LoadGuard | None = None
    assumed: bool = False
    paired_arms: bool = False

    @property
    def must_run(self) -> bool:
        """Does every launch come here, whatever the kernel's inputs are?"""
        return not (self.path.input_dependent or self.decisions or self.guard)
