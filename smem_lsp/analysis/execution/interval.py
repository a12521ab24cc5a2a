"""What nothing orders yet at one point of a path: the accesses since the last barrier, and the copies in flight.

An *interval* lasts from one barrier of the block to the next. Inside it, threads of different warps are in no order at
all, and lanes of one warp only where a barrier of the warp or an exchange of values lies between. An asynchronous copy
is in flight from its issue to the wait of its thread, whatever barriers stand between; then it is a write.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import field, replace

from smem_lsp.analysis.execution.events import Event
from smem_lsp.analysis.execution.gatherings import Gathering, Masks, groups_of
from smem_lsp.analysis.execution.pending_copies import PendingCopies, PendingCopy
from smem_lsp.ir.nodes import AccessKind
from smem_lsp.source.record import dataclass


@dataclass(slots=True)
class Interval:
    """``open``: the accesses of this interval, by storage; ``synced``: the last barrier of a part of the block;
    ``exchanged``: exchanges of values so far; ``warp``: lanes of one; ``arrived``: where all threads have said that
    they are, without waiting (point) -> how many accesses were open, by storage."""

    warp: int
    open: dict[int, list[Event]] = field(default_factory=dict)
    synced: Gathering | None = None
    exchanged: int = 0
    pending: PendingCopies = field(default_factory=PendingCopies)
    arrived: dict[int, dict[int, int]] = field(default_factory=dict)

    def fork(self, keeps: Callable[[Event], bool]) -> Interval:
        """A copy with the events that ``keeps`` accepts. Neither changes with the other."""
        events = {storage: list(filter(keeps, events)) for storage, events in self.open.items()}
        return Interval(self.warp, events, self.synced, self.exchanged, self.pending.fork(keeps))

    def barrier(self) -> None:
        """All threads of the block have come to a barrier."""
        self.open.clear()
        self.arrived.clear()
        for copy in self.pending.open:
            copy.fresh = False

    def forget(self) -> None:
        """Who has waited for whom is no longer known."""
        self.open.clear()
        self.arrived.clear()
        self.pending.open.clear()

    def arrive(self, point: int) -> None:
        """All threads say at ``point`` that they are there, and go on."""
        self.arrived[point] = {storage: len(events) for storage, events in self.open.items()}

    def wait_for_arrival(self, point: int) -> None:
        """All threads wait until the others have been at ``point``: only what they did before is over."""
        before = self.arrived.pop(point, None)
        if before is None or self.pending.open:
            self.forget()
            return
        self.arrived.clear()
        for storage, events in self.open.items():
            del events[: before.get(storage, 0)]

    def lose_copies(self) -> None:
        """Some copies may have landed: those that no barrier has followed become writes, the rest is dropped."""
        for copy in self.pending.open:
            if copy.fresh:
                self._land(copy)
        self.pending.open.clear()

    def wait(self, threads: Collection[int], left: int | None) -> None:
        """``threads`` wait for all their copies but the ``left`` newest groups; None: for all. Copies that a barrier
        object tracks belong to no group. They may land here as well, because a pipeline commits groups too."""
        for copy in self.pending.land(threads, left):
            self._land(copy)
        for copy in [each for each in self.pending.open if not each.event.access.grouped]:
            if copy.fresh:
                self._land(copy)
            self.pending.open.remove(copy)

    def gather(self, threads: Collection[int], size: int, masks: Masks | None = None) -> None:
        """``threads`` come to a barrier of ``size`` neighbours."""
        self.synced = Gathering(self.synced, size, groups_of(threads, size), masks)

    def deliver(self, loads: frozenset[int], threads: Iterable[int]) -> None:
        """``threads`` have the values of ``loads`` (points), before any of them goes on."""
        here = frozenset(threads)
        for events in self.open.values():
            for index, event in enumerate(events):
                if event.access.point in loads and event.access.kind is AccessKind.READ:
                    events[index] = replace(event, delivered=event.delivered | here)

    def _land(self, copy: PendingCopy) -> None:
        cells = copy.cells()
        event = replace(copy.event, low=cells, high=cells, synced=self.synced, exchanged=self.exchanged)
        self.open.setdefault(copy.storage, []).append(event)
