"""A test that calls itself with each of many cases."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
from loops import every


def test_every_case_is_called_with_the_fixtures_that_are_left(tmp_path: Path) -> None:
    seen: list[tuple[int, str, Path]] = []

    @every("number, word", [(1, "a"), (2, "b")])
    def looped(number: int, word: str, tmp_path: Path) -> None:
        seen.append((number, word, tmp_path))

    assert list(inspect.signature(looped).parameters) == ["tmp_path"]
    looped(tmp_path=tmp_path)
    assert seen == [(1, "a", tmp_path), (2, "b", tmp_path)]


def test_the_case_that_fails_is_named() -> None:
    @every("seed", range(5))
    def looped(seed: int) -> None:
        assert seed < 3, "too large"

    with pytest.raises(AssertionError, match="with seed = 3: too large"):
        looped()


def test_no_case_is_a_failure() -> None:
    @every("seed", [])
    def looped(seed: int) -> None:
        raise NotImplementedError

    with pytest.raises(AssertionError, match="no case"):
        looped()


def test_a_case_with_too_few_parts_is_a_failure() -> None:
    @every("number, word", [(1,)])
    def looped(number: int, word: str) -> None:
        raise NotImplementedError

    with pytest.raises(ValueError):
        looped()
