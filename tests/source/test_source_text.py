"""Lines are the same in whatever order they are asked for, and however much of the text was looked at."""

from __future__ import annotations

import random

import pytest

from smem_lsp.source.text import LineIndex


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("length", [0, 1, 300, 9_000])
def test_lines_that_are_asked_for_one_by_one(line_end: str, length: int) -> None:
    rng = random.Random(length)
    text = "".join(rng.choice(("a", "  ", line_end, line_end * 2, "x" * 40)) for _ in range(length))
    for _ in range(20):
        asked = LineIndex(text)
        for offset in (rng.randint(-2, len(text) + 2) for _ in range(10)):
            before = text[: max(offset, 0)]
            if line_end == "\r\n" and before.endswith("\r"):  # in the middle of a line end
                before = before[:-1]
            assert asked.line_of(offset) == before.count(line_end)
