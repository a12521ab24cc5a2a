"""What holds for every test."""

from __future__ import annotations

from typing import NoReturn

import pytest

import smem_lsp.facts.attempts


@pytest.fixture(autouse=True)
def defects_are_failures(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """An analysis that raises costs a user one analysis. Here it fails the test, unless that is what it is about."""
    if request.node.get_closest_marker("defects") is not None:
        return

    def fail(error: Exception) -> NoReturn:
        raise AssertionError("an analysis failed") from error

    monkeypatch.setattr(smem_lsp.facts.attempts, "described", fail)
