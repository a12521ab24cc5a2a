"""One access of one iteration by all threads that make it, and whether two of them store different things."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from smem_lsp.analysis.values.evaluate import Evaluator
from smem_lsp.analysis.values.terms import Level, Op, Opaque, Term
from smem_lsp.ir.nodes import Access

_UNASKED = object()
ANY = 1 << 62

Decision = tuple[int, bool]  # point of a branch or loop, and whether its first arm or its body runs


@dataclass(frozen=True, slots=True)
class Guard:
    """Conditions on data that an access stands under. ``picks``: they may let single threads through; ``loads``:
    accesses (points) to shared memory whose values they test; ``asked``: the events of these loads; ``changing``: the
    buffers of these loads that other threads may be writing; ``loop``: first and last point of the outermost loop
    around the access that has no block barrier."""

    picks: bool
    loads: frozenset[int]
    asked: tuple[Event, ...]
    changing: frozenset[int]
    loop: tuple[int, int] | None

    def and_also(self, inner: Guard) -> Guard:
        """The conditions of both; ``inner`` stands inside of this one."""
        return Guard(
            self.picks or inner.picks,
            self.loads | inner.loads,
            self.asked + inner.asked,
            self.changing | inner.changing,
            inner.loop,
        )


@dataclass(slots=True)
class Event:
    """One access of one iteration by all threads that make it.

    ``low``, ``high``: unit -> lowest, and highest, thread that touches it; ``synced``: warp -> number of its barriers
    before the access; ``exchanged``: number of exchanges before it; ``here``: evaluates what is stored;
    ``may_be_flag``: a ``volatile`` scalar, with which warps may wait for each other, so only lanes of one warp are
    compared; ``decisions``: branches and loops around it that depend on the kernel's inputs, and the way each goes;
    ``assumed``: this run need not come to it; ``data_address``: data decide its address, it may be any unit;
    ``assumes_race_free``: data decide whether it runs, in all threads or in none as long as they do not race;
    ``guard``: data decide in which threads it runs; then ``touched`` tells thread -> units.
    """

    access: Access
    low: Mapping[int, int]
    high: Mapping[int, int]
    synced: Mapping[int, int]
    exchanged: int
    stored: Term | None
    here: Evaluator
    may_be_flag: bool = False
    decisions: frozenset[Decision] = frozenset()
    assumed: bool = False
    data_address: bool = False
    assumes_race_free: bool = False
    guard: Guard | None = None
    touched: Mapping[int, range] = field(default_factory=dict)
    form: object = _UNASKED  # of what is stored, in all threads
    first: int = 0  # no unit in front of it is touched
    last: int = ANY  # nor one behind it
    begin: int | None = None  # first byte of the part of the buffer that its pointer is for
    leaves_part: bool = False  # some thread leaves that part, for sizes that the kernel need not be given


_MOST_NODES = 60  # of a stored value that is looked at


def differ(one: Event, thread: int, other: Event, second: int) -> bool:
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
    form = form_of(event)
    position = event.here.positions.get(thread)
    return None if form is None or position is None else _of_thread(form, position)


def alike(one: Event, other: Event) -> bool:
    """Is nothing known of what is stored, or is it the same thing for whichever threads?"""
    mine, theirs = form_of(one), form_of(other)
    return mine is None or theirs is None or (isinstance(mine, int) and mine == theirs)


def form_of(event: Event) -> object:
    """What is stored, in all threads at once; None: not known."""
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
        if term.level <= Level.BLOCK and not term.carried:
            return ("same", term.serial)
        if isinstance(term, Opaque) and term.origin == "load" and term.access is None and term.sources:
            return self._parts("load", term.sources)
        if isinstance(term, Op) and term.operator in ("+", "-", "*"):
            return self._parts(term.operator, term.args)
        return None

    def _parts(self, word: str, terms: Iterable[Term]) -> object:
        parts = [self.of(term) for term in terms]
        return None if None in parts else (word, *parts)
