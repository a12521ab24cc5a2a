"""The asynchronous proxy in one run of a block: bytes that it reads without a fence after the write, and bytes that are
overwritten while it may still read them.

The proxy sees what a thread has written after a fence by that thread, or by the thread that issues the read once a
barrier has ordered the two (PTX ISA, "Async proxy"). A bulk copy has read its bytes when its thread has waited for its
group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import field

from smem_lsp.source.record import dataclass

Pair = tuple[int, int]  # points: of what comes first, of what comes second


@dataclass(frozen=True, slots=True)
class Unfenced:
    """``threads``: the one that writes, and the one that has the proxy read; ``overwritten``: the other way round."""

    byte: int
    threads: tuple[int, int]
    overwritten: bool = False


@dataclass(slots=True)
class _Written:
    point: int
    thread: int
    at: int
    epoch: int


@dataclass(slots=True)
class _Read:
    point: int
    thread: int
    group: int  # of those that the thread commits


@dataclass(slots=True)
class Proxies:
    """``found``: what is wrong; ``epoch``: number of barriers so far; ``at``: number of writes and fences so far."""

    found: dict[Pair, Unfenced] = field(default_factory=dict)
    epoch: int = 0
    at: int = 0
    _written: dict[int, dict[int, _Written]] = field(default_factory=dict)  # by storage and cell
    _reading: dict[int, dict[int, _Read]] = field(default_factory=dict)
    _fenced: dict[int, tuple[int, int]] = field(default_factory=dict)  # thread -> when, and in which epoch
    _committed: Counter[int] = field(default_factory=Counter)

    def forget(self) -> None:
        """Fences, waits, or the order of events are no longer known."""
        self._written.clear()
        self._reading.clear()

    def barrier(self) -> None:
        """Threads have waited for others."""
        self.epoch += 1

    def write(self, point: int, storage: int, unit: int, cells: Mapping[int, int]) -> None:
        """Threads write cells of ``unit`` bytes."""
        self.at += 1
        written = self._written.setdefault(storage, {})
        reading = self._reading.get(storage, {})
        for cell, thread in cells.items():
            written[cell] = _Written(point, thread, self.at, self.epoch)
            read = reading.get(cell)
            if read is not None and (read.point, point) not in self.found:
                self.found[read.point, point] = Unfenced(cell * unit, (read.thread, thread), True)

    def fence(self, threads: Collection[int]) -> None:
        """The proxy sees what ``threads`` have written."""
        self.at += 1
        for thread in threads:
            self._fenced[thread] = self.at, self.epoch

    def read(
        self, point: int, storage: int, unit: int, thread: int, cells: range | None, *, copies: bool
    ) -> None:
        """``thread`` has the proxy read ``cells``; None: some of the buffer's. ``copies``: the proxy may read them
        until the thread has waited."""
        written = self._written.get(storage, {})
        asked = written.keys() if cells is None else [cell for cell in cells if cell in written]
        missing = [cell for cell in asked if not self._is_visible(written[cell], thread)]
        if missing and (cells is not None or len(missing) == len(written)):
            cell = min(missing)
            earlier = written[cell]
            self.found.setdefault((earlier.point, point), Unfenced(cell * unit, (earlier.thread, thread)))
        if copies and cells is not None:
            reading = self._reading.setdefault(storage, {})
            for cell in cells:
                reading[cell] = _Read(point, thread, self._committed[thread])

    def _is_visible(self, written: _Written, reader: int) -> bool:
        at, _ = self._fenced.get(written.thread, (-1, 0))
        _, epoch = self._fenced.get(reader, (-1, -1))
        return at > written.at or epoch > written.epoch

    def commit(self, threads: Collection[int]) -> None:
        """Each of ``threads`` makes a group of its bulk copies."""
        self._committed.update(threads)

    def wait(self, threads: Collection[int], left: int | None) -> None:
        """``threads`` wait for all but their ``left`` newest groups; None: the number is not known."""
        asked = set(threads)
        for storage, reading in self._reading.items():
            self._reading[storage] = {
                cell: read
                for cell, read in reading.items()
                if read.thread not in asked
                or (left is not None and read.group >= self._committed[read.thread] - left)
            }
