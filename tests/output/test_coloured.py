"""Colours of diffs and Markdown: only where they belong, and no other change."""

from __future__ import annotations

import re

import pytest

from smem_lsp.cli.analysing import unified_diff
from smem_lsp.output.coloured import diff, markdown
from smem_lsp.output.style import PLAIN, Style

COLOUR = Style(colour=True)


def plain(text: str) -> str:
    return re.sub("\x1b\\[[0-9;]*m", "", text)


PAIRS = [
    ("a\nb\nc\n", "a\nB\nc\n"),
    ("", "new\n"),
    ("-- a\n", "++ b\n"),  # its lines look like the head of a diff
    ("@@ -1 +1 @@\nx\n", "@@ -1 +1 @@\ny\n"),
    ("no end", "no end\n"),
    ("".join(f"{n}\n" for n in range(40)), "".join(f"{n % 39}\n" for n in range(40))),
]


@pytest.mark.parametrize(("before", "after"), PAIRS)
def test_a_diff_only_gets_colours(before: str, after: str) -> None:
    text = unified_diff(before, after, "k.cu")
    assert diff(text, PLAIN) == text
    assert plain(diff(text, COLOUR)) == text
    lines = diff(text, COLOUR).splitlines()
    assert lines[:2] == ["\x1b[1m--- k.cu\x1b[0m", "\x1b[1m+++ k.cu\x1b[0m"]
    removed = [each for each in lines if each.startswith("\x1b[31m-")]
    added = [each for each in lines if each.startswith("\x1b[32m+")]
    signs = [line[:1] for line in text.splitlines()[2:]]
    assert (len(removed), len(added)) == (signs.count("-"), signs.count("+"))


def test_markdown() -> None:
    text = "# A `b`\n\nsay `x`, not `\n```cuda\n# no heading `y`\n```\nafter\n"
    assert markdown(text, PLAIN) == text
    assert markdown(text, COLOUR).splitlines() == [
        *("\x1b[1m# A `b`\x1b[0m", "", "say \x1b[36m`x`\x1b[0m, not `"),
        *("\x1b[36m```cuda\x1b[0m", "\x1b[36m# no heading `y`\x1b[0m", "\x1b[36m```\x1b[0m", "after"),
    ]
