"""Queries, whose answers are cached, and the stores that hold the answers.

A query is declared in one line at the top of a module: its name, the types of its keys and answers, how much a store
keeps, and its answer in a cycle (when it is asked while being computed). A key holds everything that the answer
depends on and is compared whole. The model is salsa, the query store of rust-analyzer.

A question is a query about one version of what somebody edits. Its answers stay with the version, as a record of what
was read of it: what was made of them holds for another version, too, for which ``answers_alike``.

A store belongs to the object that its answers describe, and lives as long: a definition, a block of a file, the scopes
of one check. ``PROCESS`` holds answers that hold for a text anywhere. Work that an exception such as ``OutOfBudget``
interrupts leaves nothing in a store.

Answers that outlive their work are weighed in bytes, and all of them together share one budget, ``KEPT``.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial, wraps
from heapq import heapify, heapreplace
from itertools import count
from threading import Lock
from typing import Any, Concatenate, Final, Generic, ParamSpec, Protocol, TypeVar, cast
from weakref import WeakSet, WeakValueDictionary

from smem_lsp.source.budget import uncounted

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
P = ParamSpec("P")
S = TypeVar("S")


class _Mark:
    """Stands in a table for a missing answer."""

    __slots__ = ()


_MISSING: Final = _Mark()
_RUNNING: Final = _Mark()  # being computed


class DepthLimit(Protocol):
    """Limits how deeply queries may nest."""

    def enter(self) -> bool:
        """Go one step deeper; False if that is too deep. ``leave`` undoes a step."""

    def leave(self) -> None: ...


_SELDOM = 32  # one share in so many of the budget is kept between two looks at what all answers weigh


class MemoryBudget:
    """The one budget of the process for weighed answers, whatever queries and stores they belong to: ``most`` bytes.

    The least recently used ones go first. Those that were used since ``begin`` stay up to twice as much: work that
    needs more than there is must not throw out at its end what it needs at its start the next time. An answer that is
    made of others goes before them: the others would be alive as long as it is, and count no longer. ``began``: when
    the present work did.
    """

    __slots__ = ("_clock", "_since", "_tables", "_trimming", "began", "most")

    def __init__(self, most: int) -> None:
        self.most = most
        self._tables: WeakSet[Table[Any, Any]] = WeakSet()
        self._clock = count(1)
        self.began = 0
        self._since = 0  # bytes kept since the last look
        self._trimming = Lock()

    @property
    def bytes(self) -> int:
        """What all weighed answers hold, about."""
        return sum(table.bytes for table in list(self._tables))

    def begin(self) -> None:
        """What is used from now on is used by the same work."""
        self.began = next(self._clock)

    def trim(self) -> None:
        """Forget what is too much: answers that were used before ``begin``, and others where it is twice as much."""
        with self._trimming:
            held = self.bytes
            if held <= self.most:
                return
            by_age = [(table.oldest, number, table) for number, table in enumerate(list(self._tables))]
            heapify(by_age)
            while held > self.most and by_age:
                used, number, table = by_age[0]
                if used == _NEVER or (used >= self.began and held <= 2 * self.most):
                    return
                held -= table.drop_oldest()
                heapreplace(by_age, (table.oldest, number, table))

    def rest(self) -> None:
        """No work is under way: forget what is too much, whatever the last work used."""
        self.begin()
        self.trim()

    def now(self) -> int:
        return next(self._clock)

    def add(self, table: Table[Any, Any]) -> None:
        self._tables.add(table)

    def grown(self, size: int) -> None:
        """``size`` bytes have been kept."""
        self._since += size
        if self._since * _SELDOM > self.most:
            self._since = 0
            if self.bytes > 2 * self.most:
                self.trim()


_NEVER: Final = 1 << 62
KEPT: Final = MemoryBudget(160_000_000)


class Store:
    """Answers by query and key. ``shared``: several threads may use it at a time."""

    __slots__ = ("_spare", "_tables", "_unkept", "shared")

    def __init__(self, *, shared: bool = False) -> None:
        self._tables: dict[Query[Any, Any], Table[Any, Any]] = {}
        self._unkept: list[Callable[[], None]] = []
        self._spare: dict[Callable[[], None], None] = {}
        self.shared = shared

    def table(self, query: Query[K, V]) -> Table[K, V]:
        """The answers to one query."""
        found = self._tables.get(query)
        if found is None:
            found = self._tables.setdefault(query, Table(query))
        return found

    def record(self) -> Iterator[tuple[_Question[Any], tuple[object, ...], Any]]:
        """The questions that were asked, with the keys and the answers."""
        for query, table in [*self._tables.items()]:
            if isinstance(query, _Question) and query.most is None:
                yield from ((query, key, answer) for key, answer in table.answers())

    def clear(self) -> None:
        """Forget every answer."""
        for table in list(self._tables.values()):
            table.clear()
        for forget in self._unkept:
            forget()

    def adopt(self, forget: Callable[[], None]) -> None:
        """Let ``clear`` call ``forget`` as well."""
        self._unkept.append(forget)

    def can_spare(self, drop: Callable[[], None]) -> None:
        """Let ``rest`` call ``drop``, which lets go of memory that is quickly made again."""
        self._spare[drop] = None

    def rest(self) -> None:
        """This thread has nothing to do for a while: let go of what it can spare."""
        for drop in list(self._spare):
            drop()


PROCESS: Final = Store(shared=True)


class Query(Generic[K, V]):
    """A query.

    ``each``: bytes that a unit of the weight of its answers takes; they share the budget ``KEPT``. ``most``: bound on
    the number of its answers in a store that lives with one object. None of the two: they stay as long as their store.
    The most recently used ones stay. ``in_use``: so do those that something else keeps alive, an open document for
    one. ``whole``: its answers keep those of other queries alive, which were asked in the same work. ``cycle``: its
    answer when it depends on itself. A query without ``cycle`` must not depend on itself; only such a query may use a
    shared store, where another thread may be computing the same key.
    """

    __slots__ = ("_cycle", "each", "in_use", "most", "name", "whole")

    def __init__(
        self,
        name: str,
        *,
        each: int | None = None,
        most: int | None = None,
        in_use: bool = False,
        whole: bool = False,
        cycle: V | _Mark = _MISSING,
    ) -> None:
        self.name = name
        self.each = each
        self.most = most
        self.in_use = in_use
        self.whole = whole
        self._cycle = cycle

    def __repr__(self) -> str:
        return f"<query: {self.name}>"

    def find(self, store: Store, key: K) -> V | None:
        """The cached answer; None if there is none."""
        found = store.table(self).find(key)
        return None if isinstance(found, _Mark) else found

    def keep(self, store: Store, key: K, value: V, weight: int = 1) -> V:
        """Cache an answer and return it."""
        store.table(self).keep(key, value, weight)
        return value

    def drop(self, store: Store, unwanted: Callable[[V], bool]) -> None:
        """Forget the answers that are ``unwanted``."""
        store.table(self).drop(unwanted)

    def forget(self, store: Store) -> None:
        """Forget all answers."""
        store.table(self).clear()

    def count(self, store: Store) -> int:
        """How many answers are cached."""
        return len(store.table(self))

    def weight(self, store: Store) -> int:
        """Total weight of the answers; 0 for a query that is not weighed."""
        return store.table(self).weight

    def of(
        self,
        store: Store,
        key: K,
        work: Callable[[], V],
        *,
        weigh: Callable[[V], int] | None = None,
        within: DepthLimit | None = None,
    ) -> V:
        """The answer: the cached one, or the result of ``work``. Beyond ``within``, the answer of a cycle."""
        table = store.table(self)
        found = table.find(key)
        if found is _RUNNING:
            return cast("V", self._cycle)
        if not isinstance(found, _Mark):
            return found
        if within is not None and not within.enter():
            return cast("V", self._cycle)
        try:
            if self._cycle is not _MISSING:
                value = self._guarded(store, key, work)
            elif store.shared:
                with uncounted():  # who asks first does not pay for others
                    value = work()
            else:
                value = work()
        finally:
            if within is not None:
                within.leave()
        table.keep(key, value, 1 if weigh is None else weigh(value))
        return value

    def once(self, store: Store, key: K, work: Callable[[], V]) -> V:
        """The answer, found for whoever asks first and remembered for all others: the work is no unit of anybody."""
        return self.of(store, key, partial(_for_all, work))

    def _guarded(self, store: Store, key: K, work: Callable[[], V]) -> V:
        assert not store.shared, self
        table = store.table(self)
        table.begin(key)
        try:
            return work()
        finally:
            table.remove(key)

    @contextmanager
    def growing(self, store: Store, key: K, value: V) -> Iterator[V]:
        """Cache ``value`` while it is filled; queries made meanwhile see its content so far."""
        table = store.table(self)
        table.keep(key, value, 1)
        try:
            yield value
        except BaseException:
            table.remove(key)
            raise


def _for_all(work: Callable[[], V]) -> V:
    with uncounted():
        return work()


class _Entry(Generic[V]):
    """``used``: when, by the clock of ``KEPT``."""

    __slots__ = ("used", "value", "weight")

    def __init__(self, value: V | _Mark, weight: int, used: int) -> None:
        self.value = value
        self.weight = weight
        self.used = used


class Table(Generic[K, V]):
    """The answers to a query by key, bounded as it says."""

    __slots__ = ("__weakref__", "_bounded", "_entries", "_lock", "_used", "_whole", "each", "most", "weight")

    def __init__(self, query: Query[K, V]) -> None:
        most, each = query.most, query.each
        self._whole = query.whole
        self._entries: OrderedDict[K, _Entry[V]] = OrderedDict()
        self._used: WeakValueDictionary[Any, Any] | None = WeakValueDictionary() if query.in_use else None
        self._lock = Lock()
        self._bounded = most is not None or each is not None
        self.weight = 0
        self.most = most
        self.each = each
        if each is not None:
            KEPT.add(self)

    @property
    def bytes(self) -> int:
        return self.weight * (self.each or 0)

    @property
    def oldest(self) -> int:
        """When the answer that goes first was used."""
        with self._lock:
            return next(iter(self._entries.values())).used if self._entries else _NEVER

    def drop_oldest(self) -> int:
        """Forget one answer; its bytes."""
        with self._lock:
            if not self._entries:
                return 0
            weight = self._entries.popitem(last=False)[1].weight
            self.weight -= weight
            return weight * (self.each or 0)

    def find(self, key: K) -> V | _Mark:
        """The answer, now the most recently used; a mark if there is none."""
        entry = self._entries.get(key)
        if entry is None:
            return _MISSING if self._used is None else cast("V | _Mark", self._used.get(key, _MISSING))
        if self._bounded:
            with self._lock:
                if self.each is not None:
                    entry.used = self._now()
                if key in self._entries:  # another thread may have forgotten it
                    self._entries.move_to_end(key)
        return entry.value

    def keep(self, key: K, value: V, weight: int) -> None:
        if not self._bounded:
            self._entries[key] = _Entry(value, weight, 0)
            return
        with self._lock:
            self._take(key)
            if self._used is not None:
                self._used[key] = value
            self._entries[key] = _Entry(value, weight, self._now() if self.each is not None else 0)
            self.weight += weight
            while self.most is not None and len(self._entries) > self.most:
                self.weight -= self._entries.popitem(last=False)[1].weight
        if self.each is not None:
            KEPT.grown(weight * self.each)

    def _now(self) -> int:
        return KEPT.began if self._whole else KEPT.now()

    def begin(self, key: K) -> None:
        """Mark the answer as being computed."""
        with self._lock:
            self._entries[key] = _Entry(_RUNNING, 0, 0)

    def remove(self, key: K) -> None:
        with self._lock:
            self._take(key)

    def drop(self, unwanted: Callable[[V], bool]) -> None:
        with self._lock:
            for key, entry in list(self._entries.items()):
                if not isinstance(entry.value, _Mark) and unwanted(entry.value):
                    self._take(key)
            if self._used is not None:
                for key, alive in list(self._used.items()):
                    if unwanted(alive):
                        del self._used[key]

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
            self.weight = 0
            if self._used is not None:
                self._used.clear()

    def _take(self, key: K) -> None:
        if self._used is not None:
            self._used.pop(key, None)
        old = self._entries.pop(key, None)
        if old is not None and self._bounded:
            self.weight -= old.weight

    def __len__(self) -> int:
        return len(self._entries if self._used is None else self._used)

    def answers(self) -> list[tuple[K, V]]:
        """All of them, with their keys."""
        entries = [*self._entries.items()]
        return [(key, each.value) for key, each in entries if not isinstance(each.value, _Mark)]


class _Question(Query[tuple[object, ...], V]):
    """``ask``: of a version, with a key."""

    __slots__ = ("ask",)
    ask: Callable[..., V]


def question(
    store: Callable[[S], Store], *, most: int | None = None
) -> Callable[[Callable[Concatenate[S, P], V]], Callable[Concatenate[S, P], V]]:
    """Declares a function as a question about its first argument. The answer depends on that and on the others, which
    are the key, and on nothing else. ``store``: that of a version, which lives as long; ``most``: bound on the answers
    there, which are no record then."""

    def declare(find: Callable[Concatenate[S, P], V]) -> Callable[Concatenate[S, P], V]:
        query = _Question[V](find.__qualname__, most=most)

        @wraps(find)
        def ask(version: S, *key: P.args, **named: P.kwargs) -> V:
            if named:
                raise TypeError(f"{find.__qualname__}: what is asked is given in order")
            return query.of(store(version), key, partial(find, version, *key))

        query.ask = ask
        return cast("Callable[Concatenate[S, P], V]", ask)

    return declare


def answers_alike(old: Store, new: object) -> bool:
    """Does every question that was asked of an old version have the same answer for the ``new`` one?"""
    return all(each.ask(new, *key) == answer for each, key, answer in old.record())


def remembered(*, most: int) -> Callable[[Callable[P, V]], Callable[P, V]]:
    """Declares a function as a query in ``PROCESS``: its arguments, all immutable, are the key, and the answer depends
    on nothing else. ``most``: bound on the number of answers."""

    def declare(function: Callable[P, V]) -> Callable[P, V]:
        @wraps(function)
        def first(*args: P.args, **kwargs: P.kwargs) -> V:
            with uncounted():
                return function(*args, **kwargs)

        memory = lru_cache(maxsize=most)(first)
        PROCESS.adopt(memory.cache_clear)
        return cast("Callable[P, V]", memory)

    return declare
