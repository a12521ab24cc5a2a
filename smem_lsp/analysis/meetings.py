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
_UNASKED = object()

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
    form: object = _UNASKED  # of what is stored, in all threads


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
        if stores and (_form(one) is None or _form(other) is None):
            return  # perhaps the same value
        for cell in sorted(one.low.keys() & other.low.keys()):
            low, high, least, most = one.low[cell], one.high[cell], other.low[cell], other.high[cell]
            if not stores and (
                (kinds[0] is Kind.WRITE and low != high) or (kinds[1] is Kind.WRITE and least != most)
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
                elif one.lanes or other.lanes:
                    continue
                if stores and not _differ(one, a, other, b):
                    continue
                if not together:
                    self.across[pair] = Meeting(cell * unit, (a, b))
                    return
                self.within[pair] = Meeting(cell * unit, (a, b), other.exchanged > one.exchanged)

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
    mine, theirs = _stored(one, thread), _stored(other, second)
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


def _stored(event: Event, thread: int) -> object:
    """What a thread stores, to compare: a number, or sums and products of loads, by address; None: not known."""
    form = _form(event)
    if form is None or thread not in event.here.threads:
        return None
    return _of_thread(form, event.here.threads.index(thread))


def _form(event: Event) -> object:
    if event.form is _UNASKED:
        event.form = None if event.stored is None else _Form(event.here).of(event.stored)
    return event.form


def _of_thread(form: object, position: int) -> object:
    if isinstance(form, list):
        return form[position]
    if isinstance(form, int):
        return form
    assert isinstance(form, tuple)
    word, *rest = form
    if word == "same":
        return form
    parts = tuple(_of_thread(each, position) for each in rest)
    return None if None in parts or (word != "load" and 0 in parts) else (word, *parts)


@dataclass(slots=True)
class _Form:
    """What is stored in all threads at once: numbers as vectors, and the operations on what is not known."""

    here: Evaluator
    left: int = _MOST_NODES

    def of(self, term: Term) -> object:
        self.left -= 1
        if self.left < 0:
            return None
        found = self.here.value(term)
        if found is not None:
            return found
        if term.level <= BLOCK and not term.carried:
            return ("same", term.serial)
        if isinstance(term, Opaque) and term.origin == "load" and term.access is None and term.sources:
            return self._parts("load", term.sources)
        if isinstance(term, Op) and term.operator in ("+", "-", "*"):
            return self._parts(term.operator, term.args)
        return None

    def _parts(self, word: str, terms: Iterable[Term]) -> object:
        parts = [self.of(term) for term in terms]
        return None if None in parts else (word, *parts)
