"""The title of a merge: bytes, barriers and resident blocks before and after."""

from __future__ import annotations

from fixes.two_buffers import TWO_BUFFERS
from harness import (
    only_fix,
)

from smem_lsp.config import Config
from smem_lsp.engine import check


def test_the_title_says_what_is_gained() -> None:
    launched = TWO_BUFFERS.replace("512", "8192").replace("red[256]", "red[8192]").replace("511", "8191")
    launched += "void go(const float* in, float* out) { k<<<1, 256>>>(in, out); }\n"
    fix = only_fix(check(launched, config=Config(arch=("sm_90",), registers=32)), "SMEM301")
    gained = "3 → 6 blocks/SM (sm_90, 256 threads, 32 registers)"
    assert fix.title == f"Merge tile, red: 65,536 → 32,768 B, no barrier added, {gained}; unconfirmed"
