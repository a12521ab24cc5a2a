"""A text that stands inside another one: CUDA in a string of a Python file, in a cell of a notebook.

The inner text is made of pieces. A piece is copied from the outer text, or it stands for other characters there, as an
escape does, or it stands nowhere in the outer text, as a line end between two fragments. Outer text that no piece
stands for, such as quotes and indentation that is removed, is passed over.

Offsets are code points. The inner text grows from the left to the right, and so does the place of its pieces.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from smem_lsp.source.text import Span


@dataclass(frozen=True, slots=True)
class Piece:
    """``inner`` stands for ``outer``. ``copied``: both hold the same characters, one for one. An empty ``outer``: it
    stands for nothing."""

    inner: Span
    outer: Span
    copied: bool

    def part(self, start: int, end: int) -> Piece:
        """What the inner offsets ``[start, end)`` of it stand for: all of it unless it is copied."""
        if not self.copied:
            return Piece(Span(start, end), self.outer, copied=False)
        by = self.outer.start - self.inner.start
        return Piece(Span(start, end), Span(start + by, end + by), copied=True)


@dataclass(frozen=True)
class EmbeddedText:
    """An inner text and the place of each of its characters in the outer one. ``pieces`` cover the inner text."""

    text: str
    pieces: tuple[Piece, ...]

    @cached_property
    def _inner_starts(self) -> list[int]:
        return [piece.inner.start for piece in self.pieces]

    @cached_property
    def _placed(self) -> list[Piece]:
        """The pieces that stand for something."""
        return [piece for piece in self.pieces if piece.outer.start < piece.outer.end]

    @cached_property
    def _outer_ends(self) -> list[int]:
        return [piece.outer.end for piece in self._placed]

    def outer(self, span: Span) -> Span | None:
        """The smallest outer span that holds all that an inner span stands for; an escape is held as a whole. None
        where it stands for nothing. The place of an empty span is where the character behind it stands, or the end of
        the one in front of it."""
        if span.start >= span.end:
            return self._outer_place(span.start)
        found = [piece.outer for piece in self._parts(span) if piece.outer.start < piece.outer.end]
        return Span(found[0].start, found[-1].end) if found else None

    def exact(self, span: Span) -> Span | None:
        """The outer span that stands for an inner span and for nothing else: what an edit may replace. None where the
        span begins or ends inside an escape, or where its pieces do not stand side by side."""
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
        """The smallest inner span that holds all that stands for a part of an outer span. None where nothing does."""
        first = bisect_right(self._outer_ends, span.start)
        found = [
            self._inner_part(piece, span)
            for piece in self._placed[first:]
            if piece.outer.start < span.end or piece.outer.start <= span.start
        ]
        return Span(found[0].start, found[-1].end) if found else None

    def without(self, spans: Iterable[Span]) -> EmbeddedText:
        """The same text without some inner spans, which are in order and apart: indentation that is removed."""
        builder = Builder()
        at = 0
        for span in (*spans, Span(len(self.text), len(self.text))):
            for piece in self._parts(Span(at, span.start)):
                builder.add(self.text[piece.inner.start : piece.inner.end], piece.outer, piece.copied)
            at = span.end
        return builder.built()

    def _parts(self, span: Span) -> list[Piece]:
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
        """Where an inner offset between two characters stands; None inside an escape and in text that is nowhere."""
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
    def _inner_part(piece: Piece, span: Span) -> Span:
        if not piece.copied:
            return piece.inner
        by = piece.inner.start - piece.outer.start
        start = max(piece.outer.start, span.start)
        return Span(start + by, max(start, min(piece.outer.end, span.end)) + by)


class Builder:
    """Makes an embedded text from the left to the right."""

    __slots__ = ("_length", "_pieces", "_texts", "_through")

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._pieces: list[Piece] = []
        self._length = 0
        self._through = 0  # the end of the outer text that is taken

    def copied(self, outer: str, start: int, end: int) -> None:
        """``outer[start:end]`` stands in the inner text as it is."""
        self.add(outer[start:end], Span(start, end), copied=True)

    def replaced(self, start: int, end: int, text: str) -> None:
        """``text`` stands for the outer ``[start, end)``: an escape."""
        self.add(text, Span(start, end), copied=False)

    def inserted(self, text: str) -> None:
        """``text`` stands for nothing in the outer text."""
        self.add(text, Span(self._through, self._through), copied=False)

    def add(self, text: str, outer: Span, copied: bool) -> None:
        """Append a piece. Raises ValueError for one that stands before what is there."""
        if outer.start < self._through and outer.start < outer.end:
            last = self._pieces[-1] if self._pieces else None
            if copied or last is None or last.outer != outer:  # what is left of an escape may follow itself
                raise ValueError(f"pieces out of order: {outer} after {self._through}")
        if not text:
            return
        inner = Span(self._length, self._length + len(text))
        last = self._pieces[-1] if self._pieces else None
        if copied and last is not None and last.copied and last.outer.end == outer.start:
            self._pieces[-1] = Piece(
                Span(last.inner.start, inner.end), Span(last.outer.start, outer.end), copied=True
            )
        else:
            self._pieces.append(Piece(inner, outer, copied))
        self._texts.append(text)
        self._length = inner.end
        self._through = max(self._through, outer.end)

    def built(self) -> EmbeddedText:
        """What has been added so far."""
        return EmbeddedText("".join(self._texts), tuple(self._pieces))


def dedented(embedded: EmbeddedText) -> EmbeddedText:
    """The text without the white space that all its lines begin with, as ``textwrap.dedent`` removes it. Lines of
    nothing but white space do not count, and lose all of it."""
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
