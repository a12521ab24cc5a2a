"""Source text and the one place where offsets become lines and columns.

All offsets are code points from the start of the text; spans are half-open. A line ends at ``\\n``, ``\\r\\n`` or
``\\r`` and at nothing else (LSP 3.17, "Text Documents"): form feeds and U+2028 are ordinary characters.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import field
from functools import cached_property
from itertools import accumulate, count
from operator import add

from smem_lsp.source.record import dataclass, record
from smem_lsp.source.regex import regex

_LINE_END = regex(r"\r\n|\n|\r")
_PIECE = 4096  # code points scanned together
_MOST_PIECES = 6  # beyond, the whole text is scanned


@record(order=True)
class Span:
    """A half-open range of code-point offsets."""

    start: int
    end: int

    def __contains__(self, offset: object) -> bool:
        return isinstance(offset, int) and self.start <= offset < self.end

    def moved(self, by: int) -> Span:
        """The span ``by`` code points further on."""
        return Span(self.start + by, self.end + by)

    def covers(self, other: Span) -> bool:
        return self.start <= other.start and other.end <= self.end


class LineIndex:
    """Line starts of one text version, found on demand and first only around the requested place: a look at one
    function of a large file needs no more."""

    __slots__ = ("_length", "_pieces", "_starts", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._length = len(text)
        self._starts: list[int] | None = None
        # number of a piece of the text -> lines that end before it, offsets of the line ends in it
        self._pieces: dict[int, tuple[int, list[int]]] = {}

    @property
    def starts(self) -> list[int]:
        if self._starts is None:
            text = self._text
            if "\r" in text:
                self._starts = [0, *(m.end() for m in _LINE_END.finditer(text))]
            else:
                lengths = accumulate(map(len, text.split("\n")), initial=0)
                self._starts = list(map(add, lengths, count()))  # a line end each
                self._starts.pop()
        return self._starts

    def line_of(self, offset: int) -> int:
        """0-based line that holds ``offset``; offsets outside the text are clamped."""
        offset = min(max(offset, 0), self._length)
        if self._starts is not None:
            return bisect_right(self._starts, offset) - 1
        number = offset // _PIECE
        piece = self._pieces.get(number)
        if piece is None:
            if len(self._pieces) == _MOST_PIECES or "\r" in self._text:
                return bisect_right(self.starts, offset) - 1
            piece = self._pieces[number] = self._read(number * _PIECE)
        return piece[0] + bisect_left(piece[1], offset)

    def _read(self, start: int) -> tuple[int, list[int]]:
        found = self._text.find
        ends: list[int] = []
        at = found("\n", start, start + _PIECE)
        while at >= 0:
            ends.append(at)
            at = found("\n", at + 1, start + _PIECE)
        return self._text.count("\n", 0, start), ends

    def position(self, offset: int) -> tuple[int, int]:
        """0-based (line, column in code points) of ``offset``."""
        offset = min(max(offset, 0), self._length)
        line = bisect_right(self.starts, offset) - 1
        return line, offset - self.starts[line]


@dataclass(frozen=True)
class SourceText:
    """One version of one file."""

    text: str
    path: str = field(default="<memory>")

    @cached_property
    def lines(self) -> LineIndex:
        return LineIndex(self.text)

    def line_number(self, offset: int) -> int:
        """1-based line of ``offset``, as messages print it."""
        return self.lines.line_of(offset) + 1

    def line_count(self) -> int:
        """Physical lines; a final line end does not open another line."""
        if "\r" not in self.text:  # no index of lines is needed
            return self.text.count("\n") + bool(self.text and self.text[-1] != "\n")
        starts = self.lines.starts
        return len(starts) - 1 if starts[-1] == len(self.text) else len(starts)

    def line_start(self, offset: int) -> int:
        return self.lines.starts[self.lines.line_of(offset)]

    def line_end(self, offset: int) -> int:
        """Offset after the last character of the line, before its line end."""
        line = self.lines.line_of(offset)
        starts = self.lines.starts
        end = starts[line + 1] if line + 1 < len(starts) else len(self.text)
        while end > starts[line] and self.text[end - 1] in "\r\n":
            end -= 1
        return end

    def slice(self, span: Span) -> str:
        return self.text[span.start : span.end]

    @cached_property
    def newline(self) -> str:
        """The line end this file uses most: CRLF files get CRLF in new text."""
        crlf = self.text.count("\r\n")
        return "\r\n" if crlf * 2 > self.text.count("\n") else "\n"
