"""The pages of this folder say what is known."""

from __future__ import annotations

from pathlib import Path

import pytest
from revealed.loader import Document, documents, revealed, stated

ALL = list(documents())


@pytest.mark.parametrize("document", ALL, ids=lambda each: each.name)
def test_a_page_says_what_is_known(document: Document) -> None:
    told = stated(document.text)
    assert told, f"{document.path.name}:{document.line} reveals nothing"
    found = revealed(document.text)
    assert [f"{each.expression}: {words}" for each, words in zip(told, found, strict=True)] == [
        f"{each.expression}: {each.words}" for each in told
    ]


def test_what_is_stated_wrongly_is_told(tmp_path: Path) -> None:
    page = "# A title\n\nText.\n\n```cuda\n__global__ void k() {\n  int a = 3;  // reveal(a): constant, 4\n}\n```\n"
    (tmp_path / "page.md").write_text(page, encoding="utf-8")
    (document,) = documents(tmp_path)
    assert (document.title, document.line) == ("A title", 1)
    assert revealed(document.text) == ["constant, 3"]
    assert [each.words for each in stated(document.text)] == ["constant, 4"]
