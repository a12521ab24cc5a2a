"""What a query store keeps, for how long, and what it answers meanwhile."""

from __future__ import annotations

import gc
from functools import partial
from weakref import WeakSet

import pytest

from smem_lsp.source import OutOfBudget
from smem_lsp.source.queries import (
    KEPT,
    PROCESS,
    MemoryBudget,
    Query,
    Store,
    answers_alike,
    question,
    remembered,
)


def test_an_answer_is_worked_out_once() -> None:
    query, store, asked = Query[int, int | None]("half"), Store(), []

    def work(n: int) -> int | None:
        asked.append(n)
        return n // 2 if n % 2 == 0 else None

    for n in (4, 5, 4, 5):
        assert query.of(store, n, partial(work, n)) == (n // 2 if n % 2 == 0 else None)
    assert asked == [4, 5]  # None is an answer, too


def test_what_was_asked_for_last_stays() -> None:
    query, store = Query[str, int]("counted", most=2), Store()
    query.keep(store, "a", 1)
    query.keep(store, "b", 2)
    assert query.find(store, "a") == 1
    query.keep(store, "c", 3)
    assert [query.find(store, key) for key in "abc"] == [1, None, 3]


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> MemoryBudget:
    """The budget of this process, of 100 bytes and of nothing that other tests have left."""
    monkeypatch.setattr(KEPT, "_tables", WeakSet())
    monkeypatch.setattr(KEPT, "most", 100)
    KEPT.begin()
    return KEPT


def test_weighed_answers_of_all_queries_share_one_budget(kept: MemoryBudget) -> None:
    heavy, light = Query[str, int]("heavy", each=10), Query[str, int]("light", each=1)
    one, other = Store(), Store()
    heavy.keep(one, "a", 1, 4)
    light.keep(other, "b", 2, 40)
    heavy.keep(other, "c", 3, 2)
    assert heavy.find(one, "a") == 1
    kept.begin()
    light.keep(one, "d", 4, 30)
    kept.trim()
    assert (light.find(other, "b"), heavy.find(one, "a")) == (None, 1)
    assert (heavy.find(other, "c"), light.find(one, "d")) == (3, 4)


def test_what_the_work_at_hand_uses_stays_up_to_twice_the_budget(kept: MemoryBudget) -> None:
    query, store = Query[int, int]("used", each=1), Store()
    for n in range(3):
        query.keep(store, n, n, 60)
    kept.trim()
    assert query.count(store) == 3
    for n in range(3, 1000):  # nobody trims: keeping does
        query.keep(store, n, n, 60)
        assert query.weight(store) <= 200
    kept.begin()
    assert query.find(store, 999) == 999
    kept.trim()
    assert query.count(store) == 1


@pytest.mark.parametrize("whole", [True, False])
def test_what_is_made_of_others_goes_before_them(whole: bool, kept: MemoryBudget) -> None:
    parts = Query[str, int]("tokens", each=1)
    made = Query[str, int]("unit", each=1, whole=whole)
    store = Store()
    parts.keep(store, "a", 1, 60)
    made.keep(store, "of a", 2, 30)
    kept.begin()
    parts.keep(store, "b", 3, 30)
    kept.trim()
    assert (parts.find(store, "a"), made.find(store, "of a")) == ((1, None) if whole else (None, 2))


def test_at_rest_the_last_work_keeps_no_more_than_the_budget(kept: MemoryBudget) -> None:
    query, store = Query[int, int]("used", each=1), Store()
    for n in range(3):
        query.keep(store, n, n, 50)
    kept.trim()
    assert kept.bytes == 150
    kept.rest()
    assert kept.bytes == 100 and query.find(store, 0) is None


def test_a_store_that_is_gone_weighs_nothing(kept: MemoryBudget) -> None:
    query, store = Query[int, int]("in a store", each=1), Store()
    before = kept.bytes
    query.keep(store, 1, 1, 60)
    assert kept.bytes == before + 60
    del store
    gc.collect()
    assert kept.bytes == before


def test_two_queries_and_two_stores_do_not_mix() -> None:
    one, other = Query[int, str]("one"), Query[int, str]("other")
    first, second = Store(), Store()
    one.keep(first, 1, "one in the first")
    assert (other.find(first, 1), one.find(second, 1)) == (None, None)


def test_who_asks_itself_gets_the_answer_of_a_cycle() -> None:
    query, store = Query[int, int]("counting down", cycle=-1), Store()

    def work(n: int) -> int:
        return 10 * query.of(store, n - 1, lambda: work(n - 1)) if n else query.of(store, 3, lambda: 0)

    assert query.of(store, 3, lambda: work(3)) == -1000
    assert query.find(store, 3) == -1000


def test_a_query_that_may_ask_itself_is_not_shared_between_threads() -> None:
    query = Query[int, int]("shared", cycle=0)
    with pytest.raises(AssertionError):
        query.of(PROCESS, 1, lambda: 1)


def test_a_bound_of_nothing_only_guards_against_asking_itself() -> None:
    query, store, runs = Query[int, int]("guarded", most=0, cycle=7), Store(), []

    def work() -> int:
        runs.append(1)
        return query.of(store, 1, lambda: 0)

    assert [query.of(store, 1, work) for _ in range(2)] == [7, 7]
    assert (len(runs), query.count(store)) == (2, 0)


@pytest.mark.parametrize("query", [Query[int, int]("plain"), Query[int, int]("guarded", cycle=0)])
def test_work_that_is_cut_off_leaves_nothing(query: Query[int, int]) -> None:
    store = Store()

    def work() -> int:
        raise OutOfBudget("time")

    with pytest.raises(OutOfBudget):
        query.of(store, 1, work)
    assert query.count(store) == 0
    assert query.of(store, 1, lambda: 5) == 5


def test_a_growing_answer_is_seen_while_it_grows_and_gone_when_it_is_cut_off() -> None:
    query, store = Query[int, dict[str, int]]("table"), Store()
    with query.growing(store, 1, {}) as table:
        table["a"] = 1
        assert query.find(store, 1) == {"a": 1}
    assert query.find(store, 1) == {"a": 1}
    with pytest.raises(OutOfBudget), query.growing(store, 2, {}):
        raise OutOfBudget("memory")
    assert query.find(store, 2) is None


class _Steps:
    """Bounds of so many steps, each within the other."""

    def __init__(self, most: int) -> None:
        self.left = most

    def enter(self) -> bool:
        if self.left == 0:
            return False
        self.left -= 1
        return True

    def leave(self) -> None:
        self.left += 1


def test_beyond_the_bounds_nothing_is_kept() -> None:
    query, store, steps = Query[int, int | None]("bounded", cycle=None), Store(), _Steps(1)

    def inner() -> int | None:
        return query.of(store, 2, lambda: 2, within=steps)

    assert query.of(store, 1, inner, within=steps) is None
    assert query.find(store, 2) is None
    assert query.of(store, 2, lambda: 2, within=steps) == 2
    assert steps.left == 1


def test_answers_are_dropped_and_forgotten() -> None:
    query, store = Query[int, int]("numbers", most=100), Store()
    for n in range(10):
        query.keep(store, n, n)
    query.drop(store, lambda n: n % 2 == 0)
    assert [n for n in range(10) if query.find(store, n) is not None] == [1, 3, 5, 7, 9]
    store.clear()
    assert query.count(store) == 0


def test_clearing_the_store_of_the_process_clears_functions_that_remember() -> None:
    asked: list[int] = []

    @remembered(most=4)
    def double(n: int) -> int:
        asked.append(n)
        return 2 * n

    assert (double(3), double(3), asked) == (6, 6, [3])
    PROCESS.clear()
    assert (double(3), asked) == (6, [3, 3])


class Answer:
    """Something that can be kept alive from outside."""


def test_an_answer_in_use_is_found_beyond_the_bound_and_goes_with_its_last_user() -> None:
    query, store = Query[int, Answer]("answers", most=2, in_use=True), Store()
    used = query.keep(store, 0, Answer())
    for n in range(1, 10):
        query.keep(store, n, Answer())
    assert query.find(store, 0) is used
    assert [n for n in range(10) if query.find(store, n) is not None] == [0, 8, 9]
    assert (query.count(store), query.weight(store)) == (3, 2)
    del used
    assert query.find(store, 0) is None
    kept = query.keep(store, 20, Answer(), weight=3)  # alone heavier than all may be
    assert query.find(store, 20) is kept
    query.drop(store, lambda _: True)
    assert query.count(store) == 0


class Version:
    """Of a text that somebody edits."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.store = Store()


@question(lambda version: version.store)
def has(version: Version, letter: str) -> bool:
    return letter in version.text


@question(lambda version: version.store)
def length(version: Version) -> int:
    return len(version.text)


def test_what_was_asked_of_a_version_tells_which_other_one_is_as_good() -> None:
    old = Version("abc")
    assert answers_alike(old.store, Version("whatever"))  # nothing was asked
    assert has(old, "a") and not has(old, "z")
    assert answers_alike(old.store, Version("a longer one"))
    assert not answers_alike(old.store, Version("none"[:2]))  # no "a"
    assert not answers_alike(old.store, Version("za"))
    assert length(old) == 3
    assert not answers_alike(old.store, Version("a longer one"))
    assert answers_alike(old.store, Version("bad"))


def test_what_is_asked_again_is_found() -> None:
    asked = list[str]()

    @question(lambda version: version.store)
    def first(version: Version) -> str:
        asked.append(version.text)
        return version.text[:1]

    old, new = Version("one"), Version("on")
    assert first(old) == first(old) == "o" and asked == ["one"]
    assert answers_alike(old.store, new) and asked == ["one", "on"]
    assert first(new) == "o" and asked == ["one", "on"]
