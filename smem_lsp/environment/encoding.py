"""From bytes to text and back, without losing a byte."""

from __future__ import annotations

import codecs

from smem_lsp.source.record import dataclass

# UTF-32 little endian begins like UTF-16 little endian, so it comes first.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True, slots=True)
class Encoding:
    """How a file was encoded: a codec and the byte order mark in front, empty for none."""

    codec: str = "utf-8"
    mark: bytes = b""


def decode(data: bytes) -> tuple[str, Encoding]:
    """Text without its byte order mark, and what it takes to write it again.

    A byte order mark decides. Without one the text is UTF-8, or Latin-1 if it is not valid UTF-8: CUDA sources with
    comments in an old code page are common, and every byte survives that round trip. Raises UnicodeDecodeError for a
    file whose bytes contradict its mark.
    """
    for mark, codec in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(codec), Encoding(codec, mark)
    try:
        return data.decode("utf-8"), Encoding()
    except UnicodeDecodeError:
        return data.decode("latin-1"), Encoding("latin-1")


def encode(text: str, encoding: Encoding) -> bytes:
    """The bytes of a file. Raises UnicodeEncodeError if the encoding has no such character."""
    return encoding.mark + text.encode(encoding.codec)
