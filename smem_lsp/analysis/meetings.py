"""Accesses of one run of one block, and those that meet: the same bytes, different threads, nothing that orders them.

An *interval* lasts from one barrier of the block to the next. Inside it, threads of different warps are in no order at
all, and lanes of one warp only where a barrier of the warp or an exchange of values lies between.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from smem_lsp.analysis.evaluate import Evaluator
from smem_lsp.analysis.terms import BLOCK, Op, Opaque, Term
from smem_lsp.ir.model import Access, Kind

WARP = 32

Pair = tuple[int, int]  # points of two accesses, in the order of the run


@dataclass(frozen=True, slots=True)
class Meeting:
    """``threads``: the one of the first access, the one of the second; ``exchanged``: an exchange of values between the
    lanes lies between the two accesses, which orders no memory; ``data``: it depends on data whether they meet."""

    byte: int
    threads: tuple[int, int]
    exchanged: bool = False
    data: bool = False


@dataclass(slots=True)
class Event:
    """One access of one iteration: unit -> lowest, and highest, thread that touches it. ``synced``: warp -> how many
    of its barriers lie before it; ``exchanged``: how many exchanges. ``here``: evaluates what is stored. ``lanes``: a
    ``volatile``, with which warps may wait for each other: only lanes of one warp are compared. ``decisions``: branches
    and loops around it whose way rests on what the kernel is given; ``supposed``: it is not known that it runs in this
    run; ``data``: where it goes rests on data, it may be any unit."""

    access: Access
    low: Mapping[int, int]
    high: Mapping[int, int]
    synced: Mapping[int, int]
    exchanged: int
    stored: Term | None
    here: Evaluator
    lanes: bool = False
    decisions: frozenset[int] = frozenset()
    supposed: bool = False
    data: bool = False


@dataclass(slots=True)
class Meetings:
    """``across``: accesses of different warps that meet; ``within``: only lanes of one warp do."""

    warp: int = WARP
    across: dict[Pair, Meeting] = field(default_factory=dict)
    within: dict[Pair, Meeting] = field(default_factory=dict)
    open: dict[int, list[Event]] = field(default_factory=dict)  # of this interval, by storage
    synced: dict[int, int] = field(default_factory=dict)
    exchanged: int = 0

    def barrier(self) -> None:
        """All threads of the block have come here."""
        self.open.clear()

    def warp_barrier(self, threads: Iterable[int]) -> None:
        """A barrier of the warps of ``threads``, whichever of their lanes it is for."""
        warps = {thread // self.warp for thread in threads}
        self.synced = {**self.synced, **{warp: self.synced.get(warp, 0) + 1 for warp in warps}}

    def add(self, storage: int, unit: int, event: Event) -> None:
        """``event`` happens: it meets what is open."""
        earlier = self.open.setdefault(storage, [])
        for each in earlier:
            self._meet(each, event, unit)
        if event.access.kind is Kind.WRITE or event.access.plain:
            self._meet(event, event, unit)
        earlier.append(event)

    def _meet(self, one: Event, other: Event, unit: int) -> None:
        pair = one.access.point, other.access.point
        kinds = one.access.kind, other.access.kind
        if pair in self.across or kinds == (Kind.READ, Kind.READ):
            return
        if kinds == (Kind.UPDATE, Kind.UPDATE) and not (one.access.plain or other.access.plain):
            return  # both may be atomic
        if other.supposed and not one.decisions <= other.decisions:
            return  # perhaps never in one run
        if one.data or other.data:
            self._may_meet(one, other, unit)
            return
        stores = kinds == (Kind.WRITE, Kind.WRITE)
        for cell in sorted(one.low.keys() & other.low.keys()):
            low, high, least, most = one.low[cell], one.high[cell], other.low[cell], other.high[cell]
            if not stores and (
                (kinds[0] is Kind.WRITE and low != high) or (kinds[1] is Kind.WRITE and least != most)
            ):
                continue  # written by several threads at once: all the same value, one would think
            for a, b in ((low, most), (high, least), (low, least), (high, most)):
                if a == b or (stores and not _differ(one, a, other, b)):
                    continue
                warp = a // self.warp
                if warp != b // self.warp:
                    if one.lanes or other.lanes:
                        continue
                    self.across[pair] = Meeting(cell * unit, (a, b))
                    return
                if pair not in self.within and one.synced.get(warp, 0) == other.synced.get(warp, 0):
                    between = other.exchanged > one.exchanged
                    self.within[pair] = Meeting(cell * unit, (a, b), between)

    def _may_meet(self, one: Event, other: Event, unit: int) -> None:
        """One of the two goes where its data say; the other is there with many threads."""
        pair = one.access.point, other.access.point
        known = one if other.data else other
        if (one.data and other.data) or pair in self.across or len(known.low) < self.warp or known.lanes:
            return
        if one.access.kind is Kind.WRITE and other.access.kind is Kind.WRITE:
            return
        cell = min(known.low)
        thread = known.low[cell]
        there = (one if one.data else other).here.threads
        away = next((t for t in there if t // self.warp != thread // self.warp), None)
        many = len({t // self.warp for t in known.low.values()}) > 1
        if away is not None and many:
            threads = (thread, away) if known is one else (away, thread)
            self.across[pair] = Meeting(cell * unit, threads, data=True)


_MOST_NODES = 60  # of a stored value that is looked at


def _differ(one: Event, thread: int, other: Event, second: int) -> bool:
    """Do two threads surely store different things? Different numbers, or what they read at different addresses."""
    if one.stored is None or other.stored is None:
        return False
    mine, theirs = _stored(one.stored, one.here, thread), _stored(other.stored, other.here, second)
    if mine is None or theirs is None or mine == theirs:
        return False
    if isinstance(mine, int) or isinstance(theirs, int):
        return all(isinstance(each, int) or _has(each, "load") for each in (mine, theirs))
    return set(_unknowns(mine)) == set(_unknowns(theirs))  # else two unknown numbers may be one


def _has(stored: object, word: str) -> bool:
    return isinstance(stored, tuple) and (stored[0] == word or any(_has(each, word) for each in stored))


def _unknowns(stored: object) -> Iterator[object]:
    if isinstance(stored, tuple):
        if stored[0] == "same":
            yield stored
        else:
            for each in stored:
                yield from _unknowns(each)


def _stored(term: Term, here: Evaluator, thread: int) -> object:
    """What a thread stores, to compare: a number, or sums and products of loads, by address; None: not known."""
    try:
        position = here.threads.index(thread)
    except ValueError:
        return None
    return _Stored(here, position).of(term)


@dataclass(slots=True)
class _Stored:
    here: Evaluator
    position: int
    left: int = _MOST_NODES

    def of(self, term: Term) -> object:
        self.left -= 1
        if self.left < 0:
            return None
        found = self.here.value(term)
        if found is not None:
            return found if isinstance(found, int) else found[self.position]
        if term.level <= BLOCK and not term.carried:
            return ("same", term.serial)
        if isinstance(term, Opaque) and term.origin == "load" and term.access is None and term.sources:
            address = tuple(self.of(source) for source in term.sources)
            return None if None in address else ("load", *address)
        if isinstance(term, Op) and term.operator in ("+", "-", "*"):
            parts = tuple(self.of(each) for each in term.args)
            return None if None in parts or 0 in parts else (term.operator, *parts)
        return None
