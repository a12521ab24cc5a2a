"""When garbage is collected: in the pauses between jobs, because collecting stops every thread.

Only in a long job the interpreter itself collects what is young: its memory never shrinks to less than the
places where something has stayed, and so the garbage of the longest job would be room that is held for good.

Once a large file is in the caches, collecting everything takes a quarter of a second. So young objects are looked
through soon after a job, and all of them only when nobody has typed for a while. Work that nobody waits for, as on the
index of a project, may go on for minutes meanwhile.
"""

from __future__ import annotations

import gc
import sys

from smem_lsp.source.budget import held_bytes
from smem_lsp.source.native_memory import give_back, rest
from smem_lsp.source.pauses import PAUSES
from smem_lsp.source.queries import KEPT

SHORT_QUIET = 0.05  # seconds without a job before young garbage is collected
LONG_QUIET = 10.0  # seconds before all of it is
AT_ONCE = (
    50_000,
    4,
    1 << 30,
)  # objects that one job has made, 5 ms; such collections before a wider one; never all
MOST_YOUNG = 100_000  # objects, 10 MB: as many as one analysis of a large kernel leaves
GROWN = 150_000  # blocks of memory that are taken, 10 MB, before more than young garbage is collected
GROWN_BYTES = 16 << 20  # bytes, in a job, before what is free is given back
GROWN_WHOLLY = (
    2 * GROWN
)  # beyond what the last collection of everything left: what was let go since is part of it
MOST_JOBS = (
    10  # in a row without a pause; after more of them the collection is long enough to be noticed in a hover
)


def leave_to_pauses() -> None:
    """Collect in pauses from now on, and in jobs only what would make the process larger."""
    gc.set_threshold(*AT_ONCE)
    PAUSES.work = _WithinJob().pause


def collect_all() -> None:
    """Collect all garbage; what is left will most likely stay, and is not looked at again before the next time."""
    KEPT.rest()
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    rest()


class _WithinJob:
    """Collects between two kernels of a file what would make the process larger. ``_blocks``, ``_bytes``: that were
    taken after the last collection, or are by now, if these are fewer."""

    __slots__ = ("_blocks", "_bytes")

    def __init__(self) -> None:
        self._blocks = sys.getallocatedblocks()
        self._bytes = held_bytes() or 0

    def pause(self) -> None:
        blocks = sys.getallocatedblocks()
        if blocks - self._blocks > GROWN:
            gc.collect()
            blocks = self._blocks = sys.getallocatedblocks()
        held = held_bytes() or 0
        if held - self._bytes > GROWN_BYTES:
            give_back()
            held = self._bytes = held_bytes() or 0
        self._blocks, self._bytes = min(blocks, self._blocks), min(held, self._bytes)


class Collector:
    """Counts the jobs since the last collections."""

    __slots__ = ("_asked", "_awaited", "_blocks", "_left", "_since_full", "_since_young")

    def __init__(self) -> None:
        self._since_young = 0
        self._since_full = 0
        self._awaited = False  # was one of these asked for?
        self._asked = 0.0  # when the last one that was ended
        self._blocks = 0  # that were taken after the last collection that was not only of young objects
        self._left = sys.getallocatedblocks()  # after the last one of everything

    @property
    def quiet(self) -> float | None:
        """Seconds without a job after which ``pause`` is to be called; None: there is nothing to collect."""
        if self._since_young:
            return SHORT_QUIET
        return LONG_QUIET if self._since_full else None

    def pause(self) -> None:
        """It has been quiet for so long."""
        if self._since_young:
            self._collect_young()
        else:
            self._collect_all()

    def job_done(self, now: float, *, awaited: bool = True) -> None:
        """A job has ended, at so many seconds."""
        self._since_young += 1
        self._since_full += 1
        if awaited:
            self._asked, self._awaited = now, True
        elif self._awaited and now > self._asked + LONG_QUIET:
            self._collect_all()
        if self._since_young >= MOST_JOBS or gc.get_count()[0] > MOST_YOUNG:
            self._collect_young()

    def _collect_all(self) -> None:
        collect_all()
        self._since_young = self._since_full = 0
        self._awaited = False
        self._left = self._blocks = sys.getallocatedblocks()

    def _collect_young(self) -> None:
        gc.collect(1)
        self._since_young = 0
        if sys.getallocatedblocks() - self._blocks > GROWN:
            self._collect_grown()

    def _collect_grown(self) -> None:
        """What has become old since the last time; everything once it is much, as somebody may type for hours."""
        whole = sys.getallocatedblocks() - self._left > GROWN_WHOLLY
        if whole:
            gc.unfreeze()
        gc.collect()
        gc.freeze()
        give_back()
        self._blocks = sys.getallocatedblocks()
        if whole:
            self._left = self._blocks
