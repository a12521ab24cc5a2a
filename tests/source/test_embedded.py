"""Places in an inner text and in the text around it are each other's."""

from __future__ import annotations

import itertools
import random
import textwrap

import pytest
from loops import every

from smem_lsp.source.embedded import Builder, EmbeddedText, dedented
from smem_lsp.source.text import Span

_ESCAPES = {"\n": "\\n", "\t": "\\t", "\\": "\\\\", '"': '\\"'}
CASES = range(200)


def embed(chance: random.Random) -> tuple[str, EmbeddedText, list[Span | None]]:
    """An outer text, what is embedded in it, and for each inner character its outer span (None: nowhere). Fragments
    stand in quotes with escapes in them, code between them, and perhaps a line end joins them."""
    outer = ""
    places: list[Span | None] = []
    plan: list[tuple[str, Span | None, bool]] = []  # text, place, copied
    for _ in range(chance.randrange(4)):
        outer += "".join(chance.choices("xyz =\n", k=chance.randrange(5))) + '"'
        for _ in range(chance.randrange(8)):
            run = "".join(chance.choices("ab {}(;", k=chance.randrange(1, 5)))
            plan.append((run, Span(len(outer), len(outer) + len(run)), True))
            outer += run
            if chance.random() < 0.5:
                plain, escaped = chance.choice(list(_ESCAPES.items()))
                plan.append((plain, Span(len(outer), len(outer) + len(escaped)), False))
                outer += escaped
        outer += '"'
        if chance.random() < 0.3:
            plan.append(("\n", None, False))
    builder = Builder()
    for text, place, copied in plan:
        if place is None:
            builder.inserted(text)
            places.append(None)
        elif copied:
            builder.copied(outer, place.start, place.end)
            places += (Span(at, at + 1) for at in range(place.start, place.end))
        else:
            builder.replaced(place.start, place.end, text)
            places.append(place)
    return outer, builder.built(), places


def spans(length: int) -> list[Span]:
    return [
        Span(start, end) for start in range(length) for end in range(start + 1, min(length, start + 6) + 1)
    ]


@every("seed", CASES)
def test_a_span_stands_where_its_characters_stand(seed: int) -> None:
    _, embedded, places = embed(random.Random(seed))
    assert len(embedded.text) == len(places)
    for span in spans(len(places)):
        known = [place for place in places[span.start : span.end] if place is not None]
        expected = Span(known[0].start, known[-1].end) if known else None
        assert embedded.outer(span) == expected


@every("seed", CASES)
def test_what_an_edit_may_replace_holds_the_span_and_nothing_else(seed: int) -> None:
    outer, embedded, places = embed(random.Random(seed))
    for span in spans(len(places)):
        known = places[span.start : span.end]
        side_by_side = None not in known and all(
            a is not None and b is not None and a.end == b.start for a, b in itertools.pairwise(known)
        )
        exact = embedded.exact(span)
        assert (exact is not None) == side_by_side
        if exact is not None:
            spelled = outer[exact.start : exact.end]
            assert "".join(_ESCAPES.get(c, c) for c in embedded.text[span.start : span.end]) == spelled


@every("seed", CASES)
def test_the_way_back_leads_to_the_same_characters(seed: int) -> None:
    outer, embedded, places = embed(random.Random(seed))
    for at, place in enumerate(places):
        if place is not None:
            assert embedded.inner(place) == Span(at, at + 1)
            assert embedded.inner(Span(place.start, place.start + 1)) == Span(at, at + 1)
    for span in spans(len(outer)):
        touched = [
            at
            for at, place in enumerate(places)
            if place is not None and place.start < span.end and span.start < place.end
        ]
        assert embedded.inner(span) == (Span(touched[0], touched[-1] + 1) if touched else None)


@every("seed", CASES)
def test_a_place_between_two_characters_is_at_one_of_them(seed: int) -> None:
    _, embedded, places = embed(random.Random(seed))
    for at in range(len(places) + 1):
        found = embedded.outer(Span(at, at))
        before = places[at - 1] if at else None
        behind = places[at] if at < len(places) else None
        allowed = [place.start for place in (behind,) if place] + [place.end for place in (before,) if place]
        assert found == (Span(allowed[0], allowed[0]) if allowed else None)


@every("seed", CASES)
def test_indentation_is_removed_as_python_removes_it(seed: int) -> None:
    chance = random.Random(seed)
    lines = [
        " " * chance.choice((0, 2, 4, 4, 6))
        + "\t" * chance.randrange(2)
        + chance.choice(("", "a;", "if (x) {"))
        for _ in range(chance.randrange(1, 6))
    ]
    outer = "s = '''" + "\n".join(lines) + "'''"
    builder = Builder()
    builder.copied(outer, 7, len(outer) - 3)
    found = dedented(builder.built())
    assert found.text == textwrap.dedent(outer[7:-3])
    for at, character in enumerate(found.text):
        place = found.exact(Span(at, at + 1))
        assert place is not None
        assert outer[place.start : place.end] == character


def test_pieces_stand_in_order() -> None:
    builder = Builder()
    builder.copied("abc", 1, 3)
    with pytest.raises(ValueError, match="out of order"):
        builder.copied("abc", 0, 2)


def test_an_empty_text_stands_nowhere() -> None:
    empty = Builder().built()
    assert (empty.text, empty.outer(Span(0, 0)), empty.inner(Span(0, 5))) == ("", None, None)
