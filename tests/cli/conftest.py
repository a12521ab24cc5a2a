"""Command lines over the toy engine, each in an empty folder."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from toy_engine import toy_check, toy_registry

import smem_lsp.engine
from smem_lsp.cli import main


@pytest.fixture(autouse=True)
def toy_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Checks with the toy, in an empty folder; ``real_engine`` leaves the engine alone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NO_COLOR", raising=False)
    if request.node.get_closest_marker("real_engine") is None:
        monkeypatch.setattr(smem_lsp.engine, "check", toy_check, raising=False)
        monkeypatch.setattr("smem_lsp.cli.checking.user_result_store", lambda: None)  # they are not the toy's
        monkeypatch.setitem(sys.modules, "smem_lsp.rules.registry", toy_registry())


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "real_engine: needs the engine and the registry of rules")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    there = importlib.util.find_spec("smem_lsp.engine.check") and importlib.util.find_spec(
        "smem_lsp.rules.registry"
    )
    for item in items:
        if item.get_closest_marker("real_engine") and not there:
            item.add_marker(pytest.mark.skip(reason="smem_lsp.engine.check is not there yet"))


Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def smem(capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command line: exit code, stdout, stderr."""

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run
