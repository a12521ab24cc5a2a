"""Asynchronous copies that have been issued and not waited for, by thread and group.

A copy belongs to the group that its thread commits next; a wait leaves the newest groups open (PTX ISA,
"cp.async.wait_group"). Groups are counted from the newest, so losing track of one copy leaves the others exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import field, replace

from smem_lsp.analysis.execution.events import Event
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass


@dataclass(slots=True)
class PendingCopy:
    """The copies that one access issues in one iteration. ``threads``: those that have not waited for theirs;
    ``groups``: thread -> number of its group, once it has committed; ``fresh``: no block barrier since the issue."""

    storage: int
    event: Event
    threads: set[int]
    groups: dict[int, int] = field(default_factory=dict)
    fresh: bool = True
    committed: bool = False  # by all of its threads
    _cells: Mapping[int, int] | None = None

    def cells(self) -> Mapping[int, int]:
        """Cell -> the thread that copies into it; a cell that several threads copy into is left out."""
        if self._cells is None:
            low, high = self.event.low, self.event.high
            if low is high and self.threads.issuperset(low.values()):
                self._cells = low
            else:
                self._cells = {c: t for c, t in low.items() if t in self.threads and high[c] == t}
        return self._cells

    def take(self, threads: set[int]) -> None:
        """``threads`` have waited for their copies."""
        self.threads -= threads
        self._cells = None


@dataclass(slots=True)
class PendingCopies:
    """``committed``: thread -> number of groups it has committed."""

    open: list[PendingCopy] = field(default_factory=list)
    committed: Counter[int] = field(default_factory=Counter)

    def issue(self, storage: int, event: Event) -> None:
        """A copy is issued."""
        self.open.append(PendingCopy(storage, event, set(event.low.values())))

    def commit(self, threads: Collection[int]) -> None:
        """Each of ``threads`` makes a group of the copies it has issued."""
        for copy in self.open:
            checkpoint()
            if copy.event.access.grouped and not copy.committed:
                for thread in copy.threads.intersection(threads):
                    copy.groups.setdefault(thread, self.committed[thread])
                copy.committed = copy.threads <= copy.groups.keys()
        self.committed.update(threads)

    def land(self, threads: Collection[int], left: int | None) -> list[PendingCopy]:
        """The copies of ``threads`` that a wait covers. ``left``: newest groups that stay open; None: a wait for all
        copies, those of no group included."""
        landed: list[PendingCopy] = []
        for copy in self.open:
            checkpoint()
            if not copy.event.access.grouped:
                continue
            groups, committed = copy.groups, self.committed
            done = copy.threads.intersection(threads)
            if left is not None:
                done = {t for t in done if groups.get(t, committed[t]) < committed[t] - left}
            if done:
                landed.append(PendingCopy(copy.storage, copy.event, done))
                copy.take(done)
        self.open = [copy for copy in self.open if copy.threads]
        return landed

    def fork(self, keeps: Callable[[Event], bool]) -> PendingCopies:
        """A copy with the events that ``keeps`` accepts. Neither changes with the other."""
        kept = (each for each in self.open if keeps(each.event))
        copied = [replace(each, threads=set(each.threads), groups=dict(each.groups)) for each in kept]
        return PendingCopies(copied, Counter(self.committed))
