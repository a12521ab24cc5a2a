"""One VS Code for all tests of a session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from editor.toolbox import Editor, build_vsix, running_editor


@pytest.fixture(scope="session")
def vsix() -> Path:
    return build_vsix()


@pytest.fixture(scope="session")
def editor(tmp_path_factory: pytest.TempPathFactory, vsix: Path) -> Iterator[Editor]:
    with running_editor(tmp_path_factory.mktemp("editor"), vsix) as running:
        yield running
