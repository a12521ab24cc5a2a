"""Settings that whoever calls ``check`` from Python made himself."""

from __future__ import annotations

import pytest

from smem_lsp.config import Config
from smem_lsp.engine import check
from smem_lsp.targets import UnknownTarget


def test_a_target_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UnknownTarget, match="'sm_999'"):
        check("__global__ void k() {}\n", config=Config(arch=("sm_80", "sm_999")))
