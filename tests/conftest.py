"""What holds for every test."""

from __future__ import annotations

from typing import NoReturn

import pytest

import smem_lsp.engine.attempts
import smem_lsp.lowering.kernel


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

    monkeypatch.setattr(smem_lsp.engine.attempts, "described", fail)
