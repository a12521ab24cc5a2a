"""Conflicts in one run of one block: two accesses to the same bytes by different threads, one of them a write, with
nothing that orders them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field

from smem_lsp.analysis.execution.events import Event, Form, LoadGuard, SameForAll, alike, differ
from smem_lsp.analysis.execution.gatherings import ordered
from smem_lsp.analysis.execution.interval import Interval
from smem_lsp.analysis.execution.pending_copies import PendingCopy
from smem_lsp.ir.nodes import AccessKind
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.targets.every import WARP_SIZE

_MOST_PAIRS = 500  # of accesses that conflict in one run

Pair = tuple[int, int]  # points of two accesses, in the order of the run


@dataclass(frozen=True, slots=True)
class Conflict:
    """``byte``: of the buffer; ``threads``: that of the first access, that of the second; ``exchanged``: the lanes
    exchange values between the two accesses, which orders no memory; ``data``: data decide whether they conflict;
    ``pending``: the first is a copy that its thread has not waited for; ``named``: their warps go different ways, and
    named barriers do not order them."""

    byte: int
    threads: tuple[int, int]
    exchanged: bool = False
    data: bool = False
    pending: bool = False
    named: bool = False


@dataclass(slots=True)
class ConflictingAccesses:
    """``across``: conflicts between warps; ``within``: conflicts between lanes of one warp; ``of_one_value``: loads
    beside stores of one value by several threads, which may have been there before; ``asked``: pairs that are
    compared; None: all; ``warp``: lanes of one."""

    warp: int = WARP_SIZE
    asked: frozenset[Pair] | None = None
    across: dict[Pair, Conflict] = field(default_factory=dict)
    within: dict[Pair, Conflict] = field(default_factory=dict)
    of_one_value: dict[Pair, Conflict] = field(default_factory=dict)

    @property
    def full(self) -> bool:
        """So many conflicts are found that no more are looked for."""
        return len(self.across) + len(self.within) >= _MOST_PAIRS

    @property
    def settled(self) -> bool:
        """All pairs that are asked about conflict."""
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
        """Two accesses that nothing orders: they conflict where they touch the same unit and one of them writes."""
        if not self._may_conflict(one, other):
            return
        guarded = one.guard is not None or other.guard is not None
        if (guarded or one.data_address or other.data_address) and self._is_partly_ordered(one, other):
            return
        if guarded:
            self._compare_guarded(one, other, unit)
        elif one.data_address or other.data_address:
            self._compare_data_address(one, other, unit)
        else:
            self._compare_units(one, other, unit)

    def _may_conflict(self, one: Event, other: Event) -> bool:
        """May the two conflict, as far as their kinds and circumstances tell, and is that still to be found out?"""
        pair = one.access.point, other.access.point
        kinds = one.access.kind, other.access.kind
        if pair in self.across or kinds == (AccessKind.READ, AccessKind.READ) or self.full:
            return False
        if self.asked is not None and pair not in self.asked:
            return False
        if one.access.serves != other.access.serves or _keeps_off(one, other):
            return False
        if kinds == (AccessKind.UPDATE, AccessKind.UPDATE) and not (one.access.plain or other.access.plain):
            return False  # both may be atomic
        # paths that are only assumed may exclude each other, unless the decisions of one hold on the other, too
        together = one.decisions <= other.decisions or other.decisions <= one.decisions
        return together or not other.assumed

    def _is_partly_ordered(self, one: Event, other: Event) -> bool:
        """May a barrier of several warps lie between the two?"""
        last = other.synced
        return last is not one.synced and last is not None and last.widest > self.warp

    def _compare_units(self, one: Event, other: Event, unit: int) -> None:
        """Both accesses go to addresses that are known: is there a unit that two threads touch?"""
        pair = one.access.point, other.access.point
        stores = one.access.kind is AccessKind.WRITE and other.access.kind is AccessKind.WRITE
        if stores and alike(one, other):
            return  # perhaps the same value
        for cell in self._shared(one, other, across=pair in self.within):
            checkpoint()
            for a, b in _thread_pairs(one, other, cell):
                within = a // self.warp == b // self.warp
                if not self._is_unordered(one, a, other, b, within=within):
                    continue
                if stores and not differ(one, a, other, b):
                    continue
                if not stores and (_is_one_value(one, cell, b) or _is_one_value(other, cell, a)):
                    self.of_one_value.setdefault(pair, Conflict(cell * unit, (a, b), data=True))
                    continue
                data = one.assumes_race_free or other.assumes_race_free
                if not within:
                    self.across[pair] = Conflict(cell * unit, (a, b), data=data)
                    return
                exchanged = other.exchanged > one.exchanged
                self.within[pair] = Conflict(cell * unit, (a, b), exchanged, data=data)

    def _is_unordered(self, one: Event, a: int, other: Event, b: int, *, within: bool) -> bool:
        """Does nothing order thread ``a`` of one access and thread ``b`` of the other? Of lanes of one warp
        (``within``), one pair is enough."""
        if a == b:
            return False
        if not within and (one.may_be_flag or other.may_be_flag):
            return False
        if within and a in one.delivered and b in one.delivered:
            return False
        if within and (one.access.point, other.access.point) in self.within:
            return False
        return not ordered(one.synced, other.synced, a, b)

    def _shared(self, one: Event, other: Event, *, across: bool) -> Collection[int]:
        """The units, rising, that different threads touch in the two; ``across``: threads of different warps."""
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

    def _compare_data_address(self, one: Event, other: Event, unit: int) -> None:
        """Data decide the address of one of the two; the other touches known units with many threads."""
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

    def _compare_guarded(self, one: Event, other: Event, unit: int) -> None:
        """Data decide which threads come to one of the two; all threads come to the other."""
        guarded, known = (one, other) if one.guard is not None else (other, one)
        guard = guarded.guard
        assert guard is not None
        if known.guard is not None or any(e.data_address or e.may_be_flag for e in (one, other)):
            return
        if guarded.access.kind is AccessKind.WRITE and known.access.kind is AccessKind.WRITE:
            return  # who is last may not matter
        if _stays_open(guarded, guard, known):
            return
        found = [(t, self._conflict_with(t, cells, known)) for t, cells in guarded.touched.items()]
        conflicts = [(thread, where) for thread, where in found if where is not None]
        if not conflicts or (guard.picks and len(conflicts) < len(found)):
            return
        thread, (cell, foreign) = conflicts[0]
        threads = (thread, foreign) if guarded is one else (foreign, thread)
        self.across[one.access.point, other.access.point] = Conflict(cell * unit, threads, data=True)

    def _conflict_with(self, thread: int, cells: range, known: Event) -> tuple[int, int] | None:
        """One of these units and a thread of another warp that touches it."""
        for cell in cells:
            checkpoint()
            for other in (known.low.get(cell, thread), known.high.get(cell, thread)):
                if other // self.warp != thread // self.warp:
                    return cell, other
        return None


def _is_one_value(store: Event, cell: int, loading: int) -> bool:
    """Do several threads store there, so that it is one value, which thread ``loading`` may have stored itself, or
    which may have been there before?"""
    low, high = store.low[cell], store.high[cell]
    if store.access.kind is not AccessKind.WRITE or low == high:
        return False
    return low <= loading <= high or _is_same_for_all(store.form)


def _thread_pairs(one: Event, other: Event, cell: int) -> tuple[tuple[int, int], ...]:
    """Pairs of threads that touch a unit: those that are furthest apart first."""
    low, high, least, most = one.low[cell], one.high[cell], other.low[cell], other.high[cell]
    return (low, most), (high, least), (low, least), (high, most)


def _keeps_off(one: Event, other: Event) -> bool:
    """Do they use pointers to different parts of a buffer, one of them outside of its part? For other sizes it may stay
    inside, so the two need not conflict."""
    return one.begin != other.begin and (one.leaves_part or other.leaves_part)


def _stays_open(guarded: Event, guard: LoadGuard, known: Event) -> bool:
    """May the conflict be meant? A thread that decides by what others are writing may be waiting for them; one that
    looks whether there is work left need not see the newest value; and a flag in a loop without a barrier is polled."""
    stores = guarded.access.kind is not AccessKind.READ
    if guard.changing - ({guarded.access.buffer} if stores else set()):
        return True
    if any(each is known for each in guard.asked):
        return True
    same = guarded.access.kind is AccessKind.WRITE and _is_same_for_all(guarded.form)
    flag = guarded.access.kind is AccessKind.UPDATE or same
    if flag and known.access.point in guard.loads:
        return True
    loop = guard.loop
    return flag and loop is not None and loop[0] <= known.access.point <= loop[1]


def _is_same_for_all(form: Form | None) -> bool:
    return isinstance(form, int | SameForAll)
