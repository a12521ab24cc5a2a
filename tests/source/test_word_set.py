"""A set of words in few bytes."""

from __future__ import annotations

from smem_lsp.source.word_set import EVERY_WORD, may_hold, word_set


def test_every_word_that_was_added_is_there() -> None:
    for count in (1, 2, 7, 100, 3_000):
        words = [f"word_{n}" for n in range(count)]
        found = word_set(words)
        assert all(may_hold(found, word) for word in words)
        assert len(found) <= 1_024


def test_few_others_seem_to_be_there() -> None:
    for count in (1, 20, 300, 800):
        found = word_set([f"word_{n}" for n in range(count)])
        wrong = sum(may_hold(found, f"other_{n}") for n in range(2_000))
        assert wrong < 100, count


def test_none_and_all() -> None:
    assert not may_hold(word_set([]), "a")
    assert may_hold(EVERY_WORD, "a")
    assert may_hold(word_set(["\ud800", "größe"]), "größe")
