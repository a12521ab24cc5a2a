"""Where the executor cannot run its tests are skipped with the reason, or fail under ``SMEM_REQUIRE_TOOLS=1``."""

from __future__ import annotations

from pathlib import Path

import pytest
from toolchain import require

from executor import missing


@pytest.fixture(scope="session", autouse=True)
def tools() -> None:
    why = missing()
    require(None if why else Path("g++"), why)
