"""Positions and edits as LSP means them, against a model that is slow and plain."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smem_lsp.server.documents import Change, Documents
from smem_lsp.server.positions import ClientText, PositionEncoding, client_length, client_text
from smem_lsp.source import LineIndex, SourceText

UNITS = {
    PositionEncoding.UTF8: ("utf-8", 1),
    PositionEncoding.UTF16: ("utf-16-le", 2),
    PositionEncoding.UTF32: ("utf-32-le", 4),
}

text = st.text(st.sampled_from("ab \t\n\r\x0c\x0b\x85\u2028é߿€\U0001f600\U00010000\ud83d{}"), max_size=30)
encodings = st.sampled_from(list(PositionEncoding))
numbers = st.integers(0, 12)


def model_lines(whole: str) -> list[str]:
    """The lines with their ends."""
    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z|\Z", whole)


def model_units(part: str, encoding: PositionEncoding) -> int:
    codec, size = UNITS[encoding]
    return len(part.encode(codec, "surrogatepass")) // size


def model_offset(whole: str, line: int, column: int, encoding: PositionEncoding) -> int:
    lines = model_lines(whole)
    if line >= len(lines):
        return len(whole)
    start = sum(map(len, lines[:line]))
    content = lines[line].rstrip("\r\n")
    for count in range(len(content)):
        if model_units(content[: count + 1], encoding) > column:
            return start + count
    return start + len(content)


@given(text, numbers, numbers, encodings)
def test_a_position_is_where_the_model_has_it(
    whole: str, line: int, column: int, encoding: PositionEncoding
) -> None:
    seen = ClientText(whole, LineIndex(whole).starts, encoding)
    assert seen.offset(line, column) == model_offset(whole, line, column, encoding)


@given(text, st.integers(-2, 40), encodings)
def test_there_and_back(whole: str, offset: int, encoding: PositionEncoding) -> None:
    seen = ClientText(whole, LineIndex(whole).starts, encoding)
    there = seen.offset(*seen.place(offset))
    inside = min(max(offset, 0), len(whole))
    between = whole[inside - 1 : inside + 1] == "\r\n"  # no column stands there
    assert there == inside - between


edits = st.lists(
    st.tuples(
        st.one_of(st.none(), st.tuples(st.tuples(numbers, numbers), st.tuples(numbers, numbers))), text
    ),
    max_size=6,
)


@settings(max_examples=400)
@given(text, st.lists(edits, max_size=3), encodings)
def test_edits_make_the_text_of_the_model(
    whole: str, messages: list[list[tuple[object, str]]], encoding: PositionEncoding
) -> None:
    documents = Documents(encoding)
    documents.open("u", "cuda", 1, whole)
    expected = whole
    for version, message in enumerate(messages, 2):
        changes = [Change(new, where) for where, new in message]  # type: ignore[arg-type]
        for change in changes:
            if change.range is None:
                expected = change.text
                continue
            start, end = sorted(model_offset(expected, *where, encoding) for where in change.range)
            expected = expected[:start] + change.text + expected[end:]
        document = documents.change("u", version, changes)
        assert document is not None
        assert document.text == expected
        assert document.starts == LineIndex(expected).starts


@given(text, edits)
def test_a_character_is_followed_back_to_where_it_stood(
    whole: str, message: list[tuple[object, str]]
) -> None:
    documents = Documents(PositionEncoding.UTF32)
    first = documents.open("u", "cuda", 1, whole)
    document = documents.change("u", 2, [Change(new, where) for where, new in message])  # type: ignore[arg-type]
    assert document is not None
    for offset, character in enumerate(document.text):
        before = document.back_to(first.edition, offset)
        assert before is None or whole[before] == character


def test_form_feeds_and_line_separators_end_no_line() -> None:
    documents = Documents(PositionEncoding.UTF16)
    documents.open("u", "cuda", 1, "a\x0cb\u2028c\x85d\nxyz\n")
    document = documents.change("u", 2, [Change("Q", ((1, 0), (1, 1)))])
    assert document is not None and document.text == "a\x0cb\u2028c\x85d\nQyz\n"


@pytest.mark.parametrize(
    ("line", "column", "offset"),
    [(0, 3, 3), (0, 10, 3), (1, 0, 5), (1, 99, 6), (2, 0, 6), (99, 99, 6), (0, -1, 0), (-1, 5, 0)],
)
def test_positions_outside_are_clamped(line: int, column: int, offset: int) -> None:
    assert client_text(SourceText("abc\r\nx"), PositionEncoding.UTF16).offset(line, column) == offset


def test_the_empty_document() -> None:
    seen = client_text(SourceText(""), PositionEncoding.UTF16)
    assert (seen.offset(0, 0), seen.offset(5, 5), seen.place(0), seen.place(9)) == (0, 0, (0, 0), (0, 0))


def test_columns_count_units() -> None:
    assert [
        client_length("é€😀", encoding)
        for encoding in (PositionEncoding.UTF8, PositionEncoding.UTF16, PositionEncoding.UTF32)
    ] == [9, 4, 3]


def test_an_edit_counts_whatever_its_version_says() -> None:
    documents = Documents(PositionEncoding.UTF16)
    documents.open("u", "cuda", 7, "ab")
    document = documents.change("u", 3, [Change("x", ((0, 1), (0, 1)))])
    assert document is not None and (document.text, document.version) == ("axb", 3)


def test_a_range_that_runs_backwards_is_turned_around() -> None:
    documents = Documents(PositionEncoding.UTF16)
    documents.open("u", "cuda", 1, "abcd")
    document = documents.change("u", 2, [Change("", ((0, 3), (0, 1)))])
    assert document is not None and document.text == "ad"


def test_documents_that_are_not_open() -> None:
    documents = Documents(PositionEncoding.UTF16)
    assert documents.change("u", 2, [Change("x", ((0, 0), (0, 0)))]) is None
    assert documents.close("u") is None
    opened = documents.change("u", 3, [Change("lost"), Change("!", ((0, 4), (0, 4)))])
    assert opened is not None and opened.text == "lost!"


def test_a_document_opened_twice_has_the_second_text() -> None:
    documents = Documents(PositionEncoding.UTF16)
    first = documents.open("u", "cuda", 1, "one")
    second = documents.open("u", "cuda", 1, "two")
    assert documents.get("u") is second and second.edition > first.edition


def test_an_old_edition_is_followed_only_as_far_as_edits_are_kept() -> None:
    documents = Documents(PositionEncoding.UTF16)
    first = documents.open("u", "cuda", 1, "end")
    document = first
    for version in range(2, 400):
        changed = documents.change("u", version, [Change("x", ((0, 0), (0, 0)))])
        assert changed is not None
        document = changed
    assert document.back_to(first.edition, len(document.text) - 1) is None
    assert document.back_to(document.edition - 10, len(document.text) - 1) == len(document.text) - 11
