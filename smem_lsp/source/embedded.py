"""A text embedded in another one: CUDA in a string of a Python file, or in a cell of a notebook.

The inner text consists of pieces. A piece is copied from the outer text, or replaces other characters there (an
escape), or has no place in the outer text (a line end between two fragments). Outer text without a piece, such as
quotes and removed indentation, is skipped.

Offsets are code points. The pieces are in the same order in both texts.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from functools import cached_property

from smem_lsp.source.record import dataclass
from smem_lsp.source.text import Span


@dataclass(frozen=True, slots=True)
class EmbeddedPiece:
    """``inner`` stands for ``outer``. ``copied``: both have the same characters, one for one. An empty ``outer``: it
    has no place in the outer text."""

    inner: Span
    outer: Span
    copied: bool

    def part(self, start: int, end: int) -> EmbeddedPiece:
        """Its part at the inner offsets ``[start, end)``; that stands for all of ``outer`` unless copied."""
        if not self.copied:
            return EmbeddedPiece(Span(start, end), self.outer, copied=False)
        by = self.outer.start - self.inner.start
        return EmbeddedPiece(Span(start, end), Span(start + by, end + by), copied=True)


@dataclass(frozen=True)
class EmbeddedText:
    """An inner text and the place of each of its characters in the outer one. ``pieces`` cover the inner text."""

    text: str
    pieces: tuple[EmbeddedPiece, ...]

    @cached_property
    def _inner_starts(self) -> list[int]:
        return [piece.inner.start for piece in self.pieces]

    @cached_property
    def _placed(self) -> list[EmbeddedPiece]:
        """The pieces with a place in the outer text."""
        return [piece for piece in self.pieces if piece.outer.start < piece.outer.end]

    @cached_property
    def _outer_ends(self) -> list[int]:
        return [piece.outer.end for piece in self._placed]

    def outer(self, span: Span) -> Span | None:
        """The smallest outer span that covers an inner span, escapes as a whole; None if it has no place there. The
        place of an empty span is the start of the character after it, or the end of the one before it."""
        if span.start >= span.end:
            return self._outer_place(span.start)
        found = [piece.outer for piece in self._parts(span) if piece.outer.start < piece.outer.end]
        return Span(found[0].start, found[-1].end) if found else None

    def exact(self, span: Span) -> Span | None:
        """The outer span that corresponds exactly to an inner span, so that an edit may replace it. None if the span
        begins or ends inside an escape, or if its pieces are not adjacent."""
        place = self.outer(span)
        if place is None or span.start >= span.end:
            return place
        end = place.start
        for piece in self._parts(span):
            whole = piece.copied or self._is_whole(piece.inner)
            if not whole or piece.outer.start != end or piece.outer.start == piece.outer.end:
                return None
            end = piece.outer.end
        return place

    def inner(self, span: Span) -> Span | None:
        """The smallest inner span that covers all pieces of an outer span; None if there are none."""
        first = bisect_right(self._outer_ends, span.start)
        found = [
            self._inner_part(piece, span)
            for piece in self._placed[first:]
            if piece.outer.start < span.end or piece.outer.start <= span.start
        ]
        return Span(found[0].start, found[-1].end) if found else None

    def without(self, spans: Iterable[Span]) -> EmbeddedText:
        """The same text without some inner spans (removed indentation), which are in order and disjoint."""
        builder = Builder()
        at = 0
        for span in (*spans, Span(len(self.text), len(self.text))):
            for piece in self._parts(Span(at, span.start)):
                builder.add(self.text[piece.inner.start : piece.inner.end], piece.outer, piece.copied)
            at = span.end
        return builder.built()

    def _parts(self, span: Span) -> list[EmbeddedPiece]:
        """The pieces of an inner span, cut at its ends."""
        if span.start >= span.end:
            return []
        first = bisect_right(self._inner_starts, span.start) - 1
        last = bisect_left(self._inner_starts, span.end)
        return [
            piece.part(max(piece.inner.start, span.start), min(piece.inner.end, span.end))
            for piece in self.pieces[first:last]
        ]

    def _is_whole(self, inner: Span) -> bool:
        at = bisect_right(self._inner_starts, inner.start) - 1
        return self.pieces[at].inner == inner

    def _outer_place(self, offset: int) -> Span | None:
        """The outer place of an inner offset; None inside an escape and in text without an outer place."""
        at = max(bisect_right(self._inner_starts, offset) - 1, 0)
        for piece in (*self.pieces[at : at + 1], *self.pieces[max(at - 1, 0) : at]):
            if piece.outer.start == piece.outer.end or not piece.inner.start <= offset <= piece.inner.end:
                continue
            if offset == piece.inner.start:
                return Span(piece.outer.start, piece.outer.start)
            if offset == piece.inner.end:
                return Span(piece.outer.end, piece.outer.end)
            place = piece.outer.start + offset - piece.inner.start
            return Span(place, place) if piece.copied else None
        return None

    @staticmethod
    def _inner_part(piece: EmbeddedPiece, span: Span) -> Span:
        if not piece.copied:
            return piece.inner
        by = piece.inner.start - piece.outer.start
        start = max(piece.outer.start, span.start)
        return Span(start + by, max(start, min(piece.outer.end, span.end)) + by)


class Builder:
    """Builds an embedded text from left to right."""

    __slots__ = ("_length", "_pieces", "_texts", "_through")

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._pieces: list[EmbeddedPiece] = []
        self._length = 0
        self._through = 0  # the end of the outer text used so far

    def copied(self, outer: str, start: int, end: int) -> None:
        """Append ``outer[start:end]`` unchanged."""
        self.add(outer[start:end], Span(start, end), copied=True)

    def replaced(self, start: int, end: int, text: str) -> None:
        """Append ``text`` for the outer ``[start, end)``, an escape."""
        self.add(text, Span(start, end), copied=False)

    def inserted(self, text: str) -> None:
        """Append ``text``, which has no place in the outer text."""
        self.add(text, Span(self._through, self._through), copied=False)

    def add(self, text: str, outer: Span, copied: bool) -> None:
        """Append a piece. Raises ValueError if it is before an earlier one in the outer text."""
        if outer.start < self._through and outer.start < outer.end:
            last = self._pieces[-1] if self._pieces else None
            if copied or last is None or last.outer != outer:  # parts of one escape may follow each other
                raise ValueError(f"pieces out of order: {outer} after {self._through}")
        if not text:
            return
        inner = Span(self._length, self._length + len(text))
        last = self._pieces[-1] if self._pieces else None
        if copied and last is not None and last.copied and last.outer.end == outer.start:
            self._pieces[-1] = EmbeddedPiece(
                Span(last.inner.start, inner.end), Span(last.outer.start, outer.end), copied=True
            )
        else:
            self._pieces.append(EmbeddedPiece(inner, outer, copied))
        self._texts.append(text)
        self._length = inner.end
        self._through = max(self._through, outer.end)

    def built(self) -> EmbeddedText:
        """The text added so far."""
        return EmbeddedText("".join(self._texts), tuple(self._pieces))


def dedented(embedded: EmbeddedText) -> EmbeddedText:
    """The text without the common leading white space of its lines, as ``textwrap.dedent`` removes it. Blank lines do
    not count, and lose all white space."""
    starts: list[tuple[int, str]] = []
    at = 0
    for line in embedded.text.split("\n"):
        starts.append((at, line))
        at += len(line) + 1
    margins = [line[: len(line) - len(line.lstrip(" \t"))] for _, line in starts if line.strip(" \t")]
    shortest = min(margins, key=len, default="")
    common = next(n for n in range(len(shortest), -1, -1) if all(m[:n] == shortest[:n] for m in margins))
    return embedded.without(
        Span(start, start + (common if line.strip(" \t") else len(line)))
        for start, line in starts
        if common or not line.strip(" \t")
    )
