"""What holds for every test."""

from __future__ import annotations

import functools
import gc
import os
from collections.abc import Generator
from pathlib import Path
from typing import NoReturn

import pytest
import store
import turns

import smem_lsp.facts.attempts
import smem_lsp.lowering.kernel

TESTS = Path(__file__).parent
# Corpora are fetched and editors installed: as a whole these folders are slow, whatever each of their tests takes.
SLOW_FOLDERS = frozenset({"corpora", "editor", "emacs", "neovim"})


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--part", metavar="K/N", help="run every Nth file of tests only, from the Kth on: 1/2 and 2/2 are all"
    )


def pytest_configure() -> None:
    os.environ["SMEM_TEST_COMMIT"] = (
        turns.commit()
    )  # whatever happens meanwhile, for all processes of the run


def pytest_report_header() -> str:
    if turns.ALL:
        return "all cases of all series"
    return f"of long series the part of commit {turns.commit()[:12]}, see CONTRIBUTING.md; all: bash tests/run --all"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays: looking through it for garbage, again and again, takes a quarter of the time. What tests
    make meanwhile is looked through more seldom, too, which takes a tenth less."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(50_000, 20, 50)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput"):  # the first process of the run alone
        store.prune()


@functools.cache
def _test_files() -> list[Path]:
    return sorted(TESTS.rglob("test_*.py"))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A file of another part is not even imported."""
    part = config.getoption("--part")
    if part is None or collection_path not in _test_files():
        return None
    first, _, every = part.partition("/")
    return _test_files().index(collection_path) % int(every) != int(first) - 1 or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not turns.ALL:
        left_out = turns.left_out(map(_case, items), config.args)
        items[:] = [item for item in items if item.nodeid not in left_out]
    for item in items:
        folder = item.path.relative_to(TESTS).parts[0] if item.path.is_relative_to(TESTS) else ""
        if folder in SLOW_FOLDERS:
            item.add_marker(pytest.mark.slow)
    items.sort(key=_long, reverse=True)  # one that begins last keeps a process busy when the others are done


def _long(item: pytest.Item) -> int:
    """The seconds that a test states, of those that take a quarter of a minute and more."""
    slow = item.get_closest_marker("slow")
    seconds = 0 if slow is None else int(slow.kwargs.get("seconds", 0))
    return seconds if seconds >= 15 else 0


def _case(item: pytest.Item) -> turns.Case:
    if item.get_closest_marker("nightly") is not None:
        return turns.Case(item.nodeid, 0)
    sampled = item.get_closest_marker("sampled")
    return turns.Case(item.nodeid, 1 if sampled is None else int(sampled.kwargs["one_in"]))


@pytest.fixture(autouse=True)
def kernels_are_well_formed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every kernel that is lowered is verified."""
    monkeypatch.setattr(smem_lsp.lowering.kernel, "VERIFIES", True)


@pytest.fixture(autouse=True)
def defects_are_failures(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """An analysis that raises costs a user one analysis. Here it fails the test, unless that is what it is about."""
    if request.node.get_closest_marker("defects") is not None:
        return

    def fail(error: Exception) -> NoReturn:
        raise AssertionError("an analysis failed") from error

    monkeypatch.setattr(smem_lsp.facts.attempts, "described", fail)
