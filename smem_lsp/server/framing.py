"""The base protocol: messages cut out of a stream of bytes, whatever pieces it arrives in."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator

LONGEST_MESSAGE = 64 * 1024 * 1024  # bytes; eight times the largest file that is ever read
LONGEST_HEADER = 16 * 1024  # bytes

_HEADER_END = re.compile(rb"\r?\n\r?\n")
_LENGTH = re.compile(rb"^content-length[ \t]*:[ \t]*(\d{1,12})[ \t]*\r?$", re.I | re.M)

logger = logging.getLogger(__name__)


class Decoder:
    """Cuts messages out of chunks. What is no message is skipped with a line in the log."""

    __slots__ = ("_buffer", "_length", "_skip")

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._length: int | None = None  # of the message whose header has been read
        self._skip = 0  # bytes of a message that is too long

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The messages that ``data`` completes."""
        self._buffer += data
        while True:
            if self._skip:
                dropped = min(self._skip, len(self._buffer))
                del self._buffer[:dropped]
                self._skip -= dropped
            if self._length is None and not self._read_header():
                return
            if self._length is None:
                continue
            if len(self._buffer) < self._length:
                return
            body = bytes(self._buffer[: self._length])
            del self._buffer[: self._length]
            self._length = None
            yield body

    def _read_header(self) -> bool:
        """False: more bytes are needed."""
        end = _HEADER_END.search(self._buffer)
        if end is None:
            if len(self._buffer) > LONGEST_HEADER:
                logger.error("%d bytes without a message in them are dropped", len(self._buffer))
                self._buffer.clear()
            return False
        # Of several lengths the last one stands next to its message: what comes before it is rubbish.
        lengths = _LENGTH.findall(bytes(self._buffer[: end.start()]))
        del self._buffer[: end.end()]
        if not lengths:
            logger.error("a header without Content-Length is skipped")
            return True
        length = int(lengths[-1])
        if length > LONGEST_MESSAGE:
            logger.error("a message of %d bytes is skipped", length)
            self._skip = length
        else:
            self._length = length
        return True


def frame(body: bytes) -> bytes:
    """A message with its header."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
