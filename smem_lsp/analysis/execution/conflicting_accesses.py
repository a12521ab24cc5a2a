"""Conflicts in one run of one block: two accesses to the same bytes by different threads, one of them a write, with
nothing that orders them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from smem_lsp.analysis.execution.events import Event, Guard, alike, differ, form_of
from smem_lsp.analysis.execution.interval import Interval
from smem_lsp.analysis.execution.pending_copies import PendingCopy
from smem_lsp.ir.nodes import AccessKind
from smem_lsp.source import checkpoint
from smem_lsp.targets.every import WARP_SIZE

_MOST_PAIRS = 500  # of accesses that meet in one run

Pair = tuple[int, int]  # points of two accesses, in the order of the run


@dataclass(frozen=True, slots=True)
class Conflict:
    """``threads``: the one of the first access, the one of the second; ``exchanged``: an exchange of values between the
    lanes lies between the two accesses, which orders no memory; ``data``: it depends on data whether they meet;
    ``pending``: the first is a copy that its thread has not waited for; ``named``: their warps go different ways."""

    byte: int
    threads: tuple[int, int]
    exchanged: bool = False
    data: bool = False
    pending: bool = False
    named: bool = False


@dataclass(slots=True)
class ConflictingAccesses:
    """``across``: accesses of different warps that meet; ``within``: only lanes of one warp do. ``asked``: those of
    which anybody wants to know whether they meet; None: all."""

    warp: int = WARP_SIZE
    asked: frozenset[Pair] | None = None
    across: dict[Pair, Conflict] = field(default_factory=dict)
    within: dict[Pair, Conflict] = field(default_factory=dict)

    @property
    def full(self) -> bool:
        """So many accesses meet that no more are looked for."""
        return len(self.across) + len(self.within) >= _MOST_PAIRS

    @property
    def settled(self) -> bool:
        """All that are asked about meet."""
        return bool(self.asked) and len(self.across) == len(self.asked or ())

    def add(self, interval: Interval, storage: int, unit: int, event: Event) -> None:
        """``event`` happens: compare it with what is open in the interval and with the copies in flight."""
        checkpoint()
        earlier = interval.open.setdefault(storage, [])
        dealt = (
            event.access.start is not None and not event.access.serves
        )  # which thread writes what is unknown
        first, last = event.first, event.last
        for each in () if dealt else earlier:
            if each.first <= last and first <= each.last:
                self.compare(each, event, unit)
        if event.access.asynchronous:
            if event.low:
                interval.pending.issue(storage, event)
            return
        for copy in interval.pending.open:
            if copy.storage == storage:
                self._catch(copy, event, unit)
        if event.access.kind is AccessKind.WRITE or (event.access.plain and not event.access.serves):
            self.compare(event, event, unit)
        earlier.append(event)

    def compare(self, one: Event, other: Event, unit: int) -> None:
        """Two accesses that nothing orders: they meet where they touch the same unit and one of them writes."""
        pair = one.access.point, other.access.point
        kinds = one.access.kind, other.access.kind
        if pair in self.across or kinds == (AccessKind.READ, AccessKind.READ) or self.full:
            return
        if self.asked is not None and pair not in self.asked:
            return
        if one.access.serves != other.access.serves or _keeps_off(one, other):
            return
        if kinds == (AccessKind.UPDATE, AccessKind.UPDATE) and not (one.access.plain or other.access.plain):
            return  # both may be atomic
        if other.assumed and not (one.decisions <= other.decisions or other.decisions <= one.decisions):
            return  # perhaps never in one run
        if one.guard is not None or other.guard is not None:
            self._perhaps_meet(one, other, unit)
            return
        if one.data_address or other.data_address:
            self._may_meet(one, other, unit)
            return
        stores = kinds == (AccessKind.WRITE, AccessKind.WRITE)
        if stores and alike(one, other):
            return  # perhaps the same value
        for cell in self._shared(one, other, across=pair in self.within):
            checkpoint()
            low, high, least, most = one.low[cell], one.high[cell], other.low[cell], other.high[cell]
            if not stores and (
                (kinds[0] is AccessKind.WRITE and low != high)
                or (kinds[1] is AccessKind.WRITE and least != most)
            ):
                continue  # written by several threads at once: all the same value, one would think
            for a, b in ((low, most), (high, least), (low, least), (high, most)):
                if a == b:
                    continue
                warp = a // self.warp
                together = warp == b // self.warp
                if together:
                    if pair in self.within or one.synced.get(warp, 0) != other.synced.get(warp, 0):
                        continue
                elif one.may_be_flag or other.may_be_flag:
                    continue
                if stores and not differ(one, a, other, b):
                    continue
                unsure = one.assumes_race_free or other.assumes_race_free
                if not together:
                    self.across[pair] = Conflict(cell * unit, (a, b), data=unsure)
                    return
                self.within[pair] = Conflict(
                    cell * unit, (a, b), other.exchanged > one.exchanged, data=unsure
                )

    def _shared(self, one: Event, other: Event, *, across: bool) -> Collection[int]:
        """The units, rising, that both touch with different threads; with ``across`` with threads of different
        warps."""
        low, least, high, most = one.low, other.low, one.high, other.high
        owned = low is high and least is most  # each by one thread
        if owned and low is least:
            return ()  # every thread touches what it touched before
        both = low.keys() & least.keys()
        if owned and across:
            both = {cell for cell in both if low[cell] // self.warp != least[cell] // self.warp}
        elif owned:
            both = {cell for cell in both if low[cell] != least[cell]}
        return sorted(both)

    def _catch(self, copy: PendingCopy, event: Event, unit: int) -> None:
        """An access while copies are in copy: whose they are makes no difference."""
        pair = copy.event.access.point, event.access.point
        known = self.across.get(pair)
        if (
            event.data_address
            or (self.asked is not None and pair not in self.asked)
            or event.guard is not None
            or (event.assumed and not copy.event.assumed)
            or _keeps_off(copy.event, event)
            or (known is not None and known.pending)
        ):
            return
        cells = copy.cells()
        shared = cells.keys() & event.low.keys()
        if shared:
            cell = min(shared)
            self.across[pair] = Conflict(cell * unit, (cells[cell], event.low[cell]), pending=True)

    def _may_meet(self, one: Event, other: Event, unit: int) -> None:
        """One of the two goes where its data say; the other is there with many threads."""
        pair = one.access.point, other.access.point
        known = one if other.data_address else other
        if (
            (one.data_address and other.data_address)
            or pair in self.across
            or len(known.low) < self.warp
            or known.may_be_flag
        ):
            return
        if one.access.kind is AccessKind.WRITE and other.access.kind is AccessKind.WRITE:
            return
        cell = min(known.low)
        thread = known.low[cell]
        there = (one if one.data_address else other).here.threads
        away = next((t for t in there if t // self.warp != thread // self.warp), None)
        many = len({t // self.warp for t in known.low.values()}) > 1
        if away is not None and many:
            threads = (thread, away) if known is one else (away, thread)
            self.across[pair] = Conflict(cell * unit, threads, data=True)

    def _perhaps_meet(self, one: Event, other: Event, unit: int) -> None:
        """Data decide which threads come to one of the two; to the other all come that are there."""
        guarded, known = (one, other) if one.guard is not None else (other, one)
        guard = guarded.guard
        assert guard is not None
        if known.guard is not None or any(e.data_address or e.may_be_flag for e in (one, other)):
            return
        if guarded.access.kind is AccessKind.WRITE and known.access.kind is AccessKind.WRITE:
            return  # who is last may not matter
        if _stays_open(guarded, guard, known):
            return
        found = [(thread, self._foe(thread, cells, known)) for thread, cells in guarded.touched.items()]
        met = [(thread, foe) for thread, foe in found if foe is not None]
        if not met or (guard.picks and len(met) < len(found)):
            return
        thread, (cell, foe) = met[0]
        threads = (thread, foe) if guarded is one else (foe, thread)
        self.across[one.access.point, other.access.point] = Conflict(cell * unit, threads, data=True)

    def _foe(self, thread: int, cells: range, known: Event) -> tuple[int, int] | None:
        """A unit, and a thread of another warp that touches it, too."""
        for cell in cells:
            checkpoint()
            for foe in (known.low.get(cell, thread), known.high.get(cell, thread)):
                if foe // self.warp != thread // self.warp:
                    return cell, foe
        return None


def _keeps_off(one: Event, other: Event) -> bool:
    """Do they go through pointers to different parts of a buffer, one of them further than it may be meant to?"""
    return one.begin != other.begin and (one.leaves_part or other.leaves_part)


def _stays_open(guarded: Event, guard: Guard, known: Event) -> bool:
    """May the two be meant to meet? Who reads what others are writing, to decide, perhaps waits for them; who looks
    whether there is still something to do need not see the newest value; and a flag without a barrier in its loop is
    polled."""
    stores = guarded.access.kind is not AccessKind.READ
    if guard.changing - ({guarded.access.buffer} if stores else set()):
        return True
    if any(each is known for each in guard.asked):
        return True
    form = form_of(guarded) if guarded.access.kind is AccessKind.WRITE else None
    flag = guarded.access.kind is AccessKind.UPDATE or (stores and _is_same_for_all(form))
    if flag and known.access.point in guard.loads:
        return True
    loop = guard.loop
    return flag and loop is not None and loop[0] <= known.access.point <= loop[1]


def _is_same_for_all(form: object) -> bool:
    return isinstance(form, int) or (isinstance(form, tuple) and form[0] == "same")
