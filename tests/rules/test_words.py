"""What a finding says when its kernel has moved."""

from __future__ import annotations

from smem_lsp.rules.words import Line, Words, said


def test_only_named_lines_move() -> None:
    words = said("`line 7` at line ", Line(9), ", launch line ", Line(20, launch=True)) + "; line 3"
    assert str(words) == "`line 7` at line 9, launch line 20; line 3"
    assert str(words.moved(2, 5)) == "`line 7` at line 11, launch line 25; line 3"


def test_nothing_said_is_nothing() -> None:
    assert not said("", Words())
    assert said("a", said("b")) == Words(("a", "b"))
