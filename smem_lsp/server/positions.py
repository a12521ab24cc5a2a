"""From code points to the client's columns and back: the only place that knows the position encoding.

A line is converted in time proportional to its length; lines of ASCII cost nothing.
"""

from __future__ import annotations

import enum
from bisect import bisect_right
from collections.abc import Sequence

from smem_lsp.source import SourceText
from smem_lsp.source.record import dataclass

_LINE_ENDS = "\r\n"


class PositionEncoding(enum.Enum):
    """What a client's column counts (LSP 3.17, "PositionEncodingKind")."""

    UTF8 = "utf-8"
    UTF16 = "utf-16"
    UTF32 = "utf-32"


@dataclass(frozen=True, slots=True)
class ClientText:
    """One text version as a client addresses it. ``starts``: offset of each line, as ``LineIndex`` has them."""

    text: str
    starts: Sequence[int]
    encoding: PositionEncoding

    def offset(self, line: int, column: int) -> int:
        """The code point at a client's position. Columns past the end of a line mean its end, lines past the last
        one the end of the text; a column inside a character means that character."""
        if line < 0:
            return 0
        if line >= len(self.starts):
            return len(self.text)
        start, end = self.starts[line], self._line_end(line)
        content = self.text[start:end]
        if self.encoding is PositionEncoding.UTF32 or content.isascii():
            return start + min(max(column, 0), len(content))
        return start + _code_points(content, column, self.encoding)

    def place(self, offset: int) -> tuple[int, int]:
        """0-based line and column of a code point. Offsets outside the text are clamped."""
        offset = min(max(offset, 0), len(self.text))
        line = bisect_right(self.starts, offset) - 1
        start = self.starts[line]
        # Between the two characters of a line end there is no column.
        before = self.text[start : min(offset, self._line_end(line))]
        return line, client_length(before, self.encoding)

    def _line_end(self, line: int) -> int:
        """Offset after the last character of a line, before its line end."""
        last = line + 1 == len(self.starts)
        end = len(self.text) if last else self.starts[line + 1]
        if last:
            return end
        while end > self.starts[line] and self.text[end - 1] in _LINE_ENDS:
            end -= 1
        return end


def client_text(source: SourceText, encoding: PositionEncoding) -> ClientText:
    return ClientText(source.text, source.lines.starts, encoding)


def client_length(text: str, encoding: PositionEncoding) -> int:
    """Columns that ``text`` takes. A lone surrogate, which JSON can hold, counts as it would be written."""
    if encoding is PositionEncoding.UTF32 or text.isascii():
        return len(text)
    if encoding is PositionEncoding.UTF8:
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _code_points(content: str, column: int, encoding: PositionEncoding) -> int:
    """How many code points of ``content`` stand before ``column``."""
    units = 0
    for count, character in enumerate(content):
        code = ord(character)
        if encoding is PositionEncoding.UTF16:
            units += 1 + (code > 0xFFFF)
        else:
            units += 1 + (code > 0x7F) + (code > 0x7FF) + (code > 0xFFFF)
        if units > column:
            return count
    return len(content)
