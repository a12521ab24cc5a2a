"""The base protocol: messages cut out of a stream of bytes, whatever pieces it arrives in.

Bytes that are not a message are reported once and skipped up to the next header. A header inside a message means that
the message was cut off: no JSON holds ``Content-Length: …`` followed by line ends and an empty line.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator

from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex

LONGEST_MESSAGE = 64 * 1024 * 1024  # bytes; eight times the largest file that is ever read
LONGEST_GREETING = 1024 * 1024  # bytes of a message from a stranger
LONGEST_HEADER = 16 * 1024  # bytes of one line

_REACH = 2048  # bytes of a header that may have arrived earlier than the rest of it
_NAME = b"Content-Length"
_BEGIN = b"content-"  # length or type
LONGEST_BEGIN = len(_BEGIN)
_LENGTH = regex(rb"content-length[ \t]*:[ \t]*(\d+)[ \t]*\r?\Z", re.I)
_OTHER = regex(rb"[A-Za-z-]+[ \t]*:[^\r\n]*\r?\Z")
_BEGINS = regex(rb"[A-Za-z-]|\r?\Z")
# Each repetition is bounded: no text makes the search slow.
_INSIDE = regex(
    rb"Content-Length[ \t]{0,9}:[ \t]{0,9}\d{1,12}[ \t]{0,9}\r?\n(?:[A-Za-z-]{1,40}:[^\n]{0,200}\n){0,8}\r?\n"
)
_BEGUN = regex(rb"Content-Length[ \t]*:?[ \t]*\d*[ \t]*\r?\n?\r?\Z")


@dataclass(frozen=True, slots=True)
class Junk:
    """Bytes that are no message. ``reason``: one line."""

    reason: str


class _Missing(enum.Enum):
    BYTES = enum.auto()


class Decoder:
    """Cuts messages out of chunks. It keeps no more than one message and one chunk."""

    __slots__ = ("_buffer", "_declared", "_in_header", "_left", "_searched", "_skipping", "_told", "longest")

    def __init__(self) -> None:
        self.longest = LONGEST_MESSAGE  # bytes of a message; a longer one is skipped
        self._buffer = bytearray()
        self._declared: int | None = None  # the length in the header that is being read
        self._in_header = False  # a line of it has been read
        self._told = False  # of the junk that is being skipped
        self._left: int | None = None  # bytes of the message whose header has been read
        self._skipping = False  # that message
        self._searched = 0  # bytes of it without a header in them

    def feed(self, data: bytes) -> Iterator[bytes | Junk]:
        """The messages that ``data`` completes, and the junk between them."""
        self._buffer += data
        while True:
            found: bytes | Junk | _Missing | None  # None: go on, there is nothing to yield
            if self._left is None:
                found = self._read_line()
            elif (cut := self._header_inside(self._left)) is not None:
                found = None if self._skipping else Junk("a message is shorter than its header says")
                self._begin_header(cut)
            elif self._skipping:
                found = self._skip(self._left)
            else:
                found = self._read_body(self._left)
            if found is _Missing.BYTES:
                return
            if isinstance(found, bytes | Junk):
                yield found

    @property
    def unfinished(self) -> bool:
        """Is part of a message waiting for the rest?"""
        return self._left is not None and not self._skipping

    def give_up(self) -> Junk:
        """The rest of the message does not come: drop the part that is here."""
        self._skipping = True
        return Junk("a message does not end")

    def _read_line(self) -> Junk | _Missing | None:
        """One line of a header."""
        end = self._buffer.find(b"\n")
        if end < 0:
            if len(self._buffer) > LONGEST_HEADER:
                del self._buffer[:-_REACH]
                return self._junk("a line is too long for a header")
            if self._in_header or _BEGINS.match(self._buffer):
                return _Missing.BYTES
            return self._junk("bytes without a header") or _Missing.BYTES
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        length = _LENGTH.search(line)
        if length is not None:
            # Of several lengths the last one stands next to its message.
            self._declared = int(length[1]) if len(length[1]) < 13 else self.longest + 1
            self._in_header = True
            return self._junk("bytes before a header") if length.start() else None
        if line.strip(b"\r"):
            if not _OTHER.match(line):
                return self._junk("a line that is not a header")
            self._in_header = True
            return None
        return self._end_header()

    def _end_header(self) -> Junk | None:
        length, self._declared = self._declared, None
        begun, self._in_header = self._in_header, False
        if length is None:
            return self._junk("a header without Content-Length") if begun else None
        self._left = length
        self._skipping = length > self.longest
        self._searched = 0
        self._told = False
        return Junk(f"a message is longer than {self.longest:,} bytes") if self._skipping else None

    def _junk(self, reason: str) -> Junk | None:
        """Report junk, unless it continues junk that was reported."""
        if self._told:
            return None
        self._told = True
        return Junk(reason)

    def _header_inside(self, left: int) -> int | None:
        """Where a whole header begins within the message."""
        found = _INSIDE.search(self._buffer, max(0, self._searched - _REACH))
        self._searched = len(self._buffer)
        return found.start() if found is not None and found.start() < left else None

    def _begin_header(self, at: int) -> None:
        del self._buffer[:at]
        self._left = None
        self._skipping = False

    def _skip(self, left: int) -> _Missing | None:
        here = len(self._buffer)
        dropped = left if here >= left else max(0, here - _REACH)
        del self._buffer[:dropped]
        self._left = left - dropped
        self._searched = max(0, self._searched - dropped)
        if self._left:
            return _Missing.BYTES
        self._begin_header(0)
        return None

    def _read_body(self, left: int) -> bytes | Junk | _Missing:
        if len(self._buffer) < left:
            return _Missing.BYTES
        body = bytes(memoryview(self._buffer)[:left])
        begun = _header_at_end(body)
        self._begin_header(left - begun)
        return Junk("a message is shorter than its header says") if begun else body


def _header_at_end(body: bytes) -> int:
    """How many bytes at the end of ``body`` begin the header of the next message. No JSON ends like that."""
    tail = body[-64:]
    at = tail.rfind(b"C")
    begun = tail[at:] if at >= 0 else b""
    return len(begun) if begun and (_NAME.startswith(begun) or _BEGUN.match(begun)) else 0


def may_begin_message(data: bytes) -> bool:
    """Can these be the first bytes of an LSP client? Those of a browser (``GET / HTTP/1.1``) cannot. More than
    ``LONGEST_BEGIN`` bytes do not change the answer."""
    return _BEGIN.startswith(data[:LONGEST_BEGIN].lower())


def frame(body: bytes) -> bytes:
    """A message with its header."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
