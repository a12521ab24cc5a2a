"""Source text and the one place where offsets become lines and columns.

All offsets are code points from the start of the text; spans are half-open. A line ends at ``\\n``, ``\\r\\n`` or
``\\r`` and at nothing else (LSP 3.17, "Text Documents"): form feeds and U+2028 are ordinary characters.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, count
from operator import add

from smem_lsp.source.record import record

_LINE_END = re.compile(r"\r\n|\n|\r")


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
    """Line starts of one text version."""

    __slots__ = ("_length", "starts")

    def __init__(self, text: str) -> None:
        if "\r" in text:
            self.starts: list[int] = [0, *(m.end() for m in _LINE_END.finditer(text))]
        else:
            lengths = accumulate(map(len, text.split("\n")), initial=0)
            self.starts = list(map(add, lengths, count()))  # a line end each
            self.starts.pop()
        self._length = len(text)

    def line_of(self, offset: int) -> int:
        """0-based line that holds ``offset``; offsets outside the text are clamped."""
        return bisect_right(self.starts, min(max(offset, 0), self._length)) - 1

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
