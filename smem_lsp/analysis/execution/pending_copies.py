"""Asynchronous copies of one run that have been issued and not waited for: in flight, group by group of each thread.

A thread's copy belongs to the group that the thread commits next; a wait leaves its newest groups open (PTX ISA,
"cp.async.wait_group"). Groups are counted from the newest: a copy that is lost sight of leaves the others exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from smem_lsp.analysis.execution.events import Event
from smem_lsp.source import checkpoint


@dataclass(slots=True)
class Flight:
    """Copies that one access issues in one iteration. ``threads``: those that have not waited; ``groups``: by thread,
    the number of the group of those that have committed; ``fresh``: no barrier of the block has come since."""

    storage: int
    event: Event
    threads: set[int]
    groups: dict[int, int] = field(default_factory=dict)
    fresh: bool = True
    committed: bool = False  # by all of its threads
    _cells: Mapping[int, int] | None = None

    def cells(self) -> Mapping[int, int]:
        """What these threads copy into, each cell with its thread; not what several threads copy into."""
        if self._cells is None:
            low, high = self.event.low, self.event.high
            if low is high and self.threads.issuperset(low.values()):
                self._cells = low
            else:
                self._cells = {c: t for c, t in low.items() if t in self.threads and high[c] == t}
        return self._cells

    def take(self, threads: set[int]) -> None:
        """``threads`` have waited."""
        self.threads -= threads
        self._cells = None


@dataclass(slots=True)
class Flights:
    """``committed``: groups of each thread."""

    open: list[Flight] = field(default_factory=list)
    committed: Counter[int] = field(default_factory=Counter)

    def issue(self, storage: int, event: Event) -> None:
        """A copy goes off."""
        self.open.append(Flight(storage, event, set(event.low.values())))

    def commit(self, threads: Collection[int]) -> None:
        """What ``threads`` have issued becomes a group of each."""
        for flight in self.open:
            checkpoint()
            if flight.event.access.grouped and not flight.committed:
                for thread in flight.threads.intersection(threads):
                    flight.groups.setdefault(thread, self.committed[thread])
                flight.committed = flight.threads <= flight.groups.keys()
        self.committed.update(threads)

    def land(self, threads: Collection[int], left: int | None) -> list[Flight]:
        """The copies of ``threads`` that a wait covers. ``left``: groups that stay open; None: copies of no group land
        too."""
        landed: list[Flight] = []
        for flight in self.open:
            checkpoint()
            if not flight.event.access.grouped:
                continue
            groups, committed = flight.groups, self.committed
            done = flight.threads.intersection(threads)
            if left is not None:
                done = {t for t in done if groups.get(t, committed[t]) < committed[t] - left}
            if done:
                landed.append(Flight(flight.storage, flight.event, done))
                flight.take(done)
        self.open = [flight for flight in self.open if flight.threads]
        return landed

    def saved(self) -> Flights:
        """The same, which stays as it is when this one goes on."""
        copied = [replace(each, threads=set(each.threads), groups=dict(each.groups)) for each in self.open]
        return Flights(copied, Counter(self.committed))
