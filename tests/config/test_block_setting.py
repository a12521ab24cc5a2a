"""``threads``: how many, or a block."""

from __future__ import annotations

from pathlib import Path

import pytest

from smem_lsp.config.table import WrongValue, config_from_table


@pytest.mark.parametrize(
    ("value", "threads"),
    [
        (256, 256),
        ("256", 256),
        ("32x8", (32, 8, 1)),
        ("16x16x2", (16, 16, 2)),
        ("1024x1", (1024, 1, 1)),
    ],
)
def test_a_block(value: object, threads: object) -> None:
    assert config_from_table({"threads": value}, Path("/")).threads == threads


@pytest.mark.parametrize(
    "value", ["", "x", "32x", "x8", "32x8x", "1x2x3x4", "0x8", "64x32", "4x4x128", "3.5", True]
)
def test_what_is_no_block(value: object) -> None:
    with pytest.raises(WrongValue):
        config_from_table({"threads": value}, Path("/"))
