"""One access of one iteration by all threads that make it, and whether two of them store different things."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from smem_lsp.analysis.execution.gatherings import Gathering
from smem_lsp.analysis.execution.shared_contents import SharedContents
from smem_lsp.analysis.values.evaluate import Evaluator
from smem_lsp.ir.nodes import Access
from smem_lsp.source import record
from smem_lsp.source.integers import BINARY
from smem_lsp.source.record import dataclass
from smem_lsp.terms.language import Level, Op, OpaqueTerm, Term

ANY = 1 << 62
LOAD = "load"

Decision = tuple[int, bool]  # point of a branch or loop, and whether its first arm or its body runs


@record
class SameForAll:
    """A value that is not known, but the same in all threads of the block; ``serial``: of its term."""

    serial: int


@record
class Combination:
    """A sum, difference or product of values, or the value loaded from the address that they make up."""

    operator: str
    parts: tuple[Form, ...]


# What is stored, to compare: a number, one number for each thread, or how it is made of values that are not known.
Form = int | list[int] | SameForAll | Combination


@dataclass(frozen=True, slots=True)
class LoadGuard:
    """Conditions on data that an access stands under. ``picks``: they may let single threads through; ``loads``:
    accesses (points) to shared memory whose values they test; ``asked``: the events of these loads; ``changing``: the
    buffers of these loads that other threads may be writing; ``loop``: first and last point of the outermost loop
    around the access that has no block barrier."""

    picks: bool
    loads: frozenset[int]
    asked: tuple[Event, ...]
    changing: frozenset[int]
    loop: tuple[int, int] | None

    def and_also(self, inner: LoadGuard) -> LoadGuard:
        """The conditions of both; ``inner`` stands inside of this one."""
        return LoadGuard(
            self.picks or inner.picks,
            self.loads | inner.loads,
            self.asked + inner.asked,
            self.changing | inner.changing,
            inner.loop,
        )


@dataclass(slots=True)
class Event:
    """One access of one iteration by all threads that make it.

    ``low``, ``high``: unit -> lowest, and highest, thread that touches it; ``synced``: the last barrier of a part of
    the block before the access; ``exchanged``: number of exchanges before it; ``here``: evaluates what is stored,
    of which ``contents`` tells what was loaded from shared memory;
    ``may_be_flag``: a ``volatile`` scalar, with which warps may wait for each other, so only lanes of one warp are
    compared; ``decisions``: branches and loops around it that depend on the kernel's inputs, and the way each goes;
    ``assumed``: this run need not come to it; ``data_address``: data decide its address, it may be any unit;
    ``assumes_race_free``: data decide whether it runs, in all threads or in none as long as they do not race;
    ``guard``: data decide in which threads it runs; then ``touched`` tells thread -> units.
    """

    access: Access
    low: Mapping[int, int]
    high: Mapping[int, int]
    synced: Gathering | None
    exchanged: int
    stored: Term | None
    here: Evaluator
    contents: SharedContents
    may_be_flag: bool = False
    decisions: frozenset[Decision] = frozenset()
    assumed: bool = False
    data_address: bool = False
    assumes_race_free: bool = False
    guard: LoadGuard | None = None
    touched: Mapping[int, range] = field(default_factory=dict)
    first: int = 0  # no unit in front of it is touched
    last: int = ANY  # nor one behind it
    begin: int | None = None  # first byte of the part of the buffer that its pointer is for
    leaves_part: bool = False  # some thread leaves that part, for sizes that the kernel need not be given
    delivered: frozenset[int] = frozenset()  # lanes that have since exchanged what each of them has read
    _form: Form | None = None
    _form_known: bool = False

    @property
    def form(self) -> Form | None:
        """What is stored, in all threads at once; None: not known."""
        if not self._form_known:
            self._form = None if self.stored is None else _Forms(self.here, self.contents).of(self.stored)
            self._form_known = True
        return self._form


_MOST_NODES = 60  # of a stored value that is looked at
_EXACT = frozenset("+-*")
_COMBINED = _EXACT | {"&"}  # a narrower number has the last bits


def differ(one: Event, thread: int, other: Event, second: int) -> bool:
    """Do two threads surely store different things: different numbers, or what they load from different addresses?"""
    mine, theirs = _stored(one, thread), _stored(other, second)
    if mine is None or theirs is None or mine == theirs:
        return False
    if isinstance(mine, int) or isinstance(theirs, int):
        return all(isinstance(each, int) or _has_load(each) for each in (mine, theirs))
    return set(_unknowns(mine)) == set(_unknowns(theirs))  # else two unknown numbers may be equal


def alike(one: Event, other: Event) -> bool:
    """Is nothing known of what is stored, or is it the same number in all threads?"""
    mine, theirs = one.form, other.form
    return mine is None or theirs is None or (isinstance(mine, int) and mine == theirs)


def _has_load(stored: Form) -> bool:
    return isinstance(stored, Combination) and (
        stored.operator == LOAD or any(_has_load(each) for each in stored.parts)
    )


def _unknowns(stored: Form) -> Iterator[SameForAll]:
    if isinstance(stored, SameForAll):
        yield stored
    elif isinstance(stored, Combination):
        for each in stored.parts:
            yield from _unknowns(each)


def _stored(event: Event, thread: int) -> Form | None:
    """What one thread stores; None: not known."""
    form = event.form
    position = event.here.positions.get(thread)
    return None if form is None or position is None else _of_thread(form, position)


def _of_thread(form: Form, position: int) -> Form | None:
    if isinstance(form, list):
        return form[position]
    if not isinstance(form, Combination):
        return form
    parts: list[Form] = []
    for each in form.parts:
        part = _of_thread(each, position)
        if part is None or (part == 0 and form.operator != LOAD):
            return None  # with 0 it may equal what looks different: x * 0 and y * 0, x + 0 and x
        parts.append(part)
    return Combination(form.operator, tuple(parts))


@dataclass(slots=True)
class _Forms:
    """Makes the form of a term in all threads of ``here`` at once. ``left``: terms that are still looked at."""

    here: Evaluator
    contents: SharedContents
    left: int = _MOST_NODES

    def of(self, term: Term) -> Form | None:
        self.left -= 1
        if self.left < 0:
            return None
        found = self.here.value(term)
        if found is not None:
            return found
        if isinstance(term, OpaqueTerm) and term.origin == LOAD:
            loaded = self._loaded(term)
            if loaded is not None:
                return loaded
        if term.level <= Level.BLOCK and not term.carried:
            return SameForAll(term.serial)
        if isinstance(term, Op) and term.operator in _COMBINED:
            return self._combination(term.operator, term.args)
        return None

    def _loaded(self, term: OpaqueTerm) -> Form | None:
        """By what the load's address is made of."""
        if term.access is None:
            return self._combination(LOAD, term.sources) if term.sources else None
        place = self.contents.place(term)
        if place is None:
            return None
        start = self.here.value(place.offset)
        if start is None:
            return None
        first, last = (start, start) if isinstance(start, int) else (min(start), max(start))
        if first < 0 or (place.end is not None and last >= place.end):
            return None  # nothing is there
        return Combination(LOAD, (SameForAll(-1 - place.buffer), start))

    def _combination(self, operator: str, terms: Iterable[Term]) -> Form | None:
        parts: list[Form] = []
        for term in terms:
            part = self.of(term)
            if part is None:
                return None
            parts.append(part)
        if operator in _EXACT and all(isinstance(part, int | list) for part in parts):
            return _folded(BINARY[operator], parts)
        return Combination(operator, tuple(parts))


def _folded(exact: Callable[[int, int], int], parts: Sequence[Form]) -> Form:
    """The numbers that known numbers come to, in whatever width."""
    one, other = parts
    if isinstance(one, int) and isinstance(other, int):
        return exact(one, other)
    threads = len(one) if isinstance(one, list) else len(other) if isinstance(other, list) else 0
    rows = ([part] * threads if isinstance(part, int) else part for part in (one, other))
    return [exact(a, b) for a, b in zip(*rows)]
