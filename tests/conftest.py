"""What holds for every test."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import pytest

import smem_lsp.facts.attempts

TESTS = Path(__file__).parent
# Corpora are fetched and editors installed: as a whole these folders are slow, whatever each of their tests takes.
SLOW_FOLDERS = frozenset({"corpora", "editor", "emacs", "neovim"})


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        folder = item.path.relative_to(TESTS).parts[0] if item.path.is_relative_to(TESTS) else ""
        if folder in SLOW_FOLDERS:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def defects_are_failures(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """An analysis that raises costs a user one analysis. Here it fails the test, unless that is what it is about."""
    if request.node.get_closest_marker("defects") is not None:
        return

    def fail(error: Exception) -> NoReturn:
        raise AssertionError("an analysis failed") from error

    monkeypatch.setattr(smem_lsp.facts.attempts, "described", fail)
