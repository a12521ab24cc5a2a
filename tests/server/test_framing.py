"""Messages out of bytes, whatever the bytes."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smem_lsp.server.framing import (
    LONGEST_HEADER,
    LONGEST_MESSAGE,
    Decoder,
    Junk,
    frame,
    may_begin_message,
)

GOOD = b'{"jsonrpc": "2.0", "id": 1, "method": "x"}'

bodies = st.lists(st.text(max_size=20).map(lambda text: json.dumps([text]).encode()), max_size=5)


@given(bodies, st.lists(st.integers(1, 30), min_size=1))
def test_pieces_of_any_size(messages: list[bytes], sizes: list[int]) -> None:
    stream = b"".join(map(frame, messages))
    decoder = Decoder()
    found: list[bytes | Junk] = []
    at = count = 0
    while at < len(stream):
        size = sizes[count % len(sizes)]
        found += decoder.feed(stream[at : at + size])
        at, count = at + size, count + 1
    assert found == messages


def messages(found: Iterable[bytes | Junk]) -> list[bytes]:
    return [message for message in found if isinstance(message, bytes)]


def reasons(found: Iterable[bytes | Junk]) -> list[str]:
    return [message.reason for message in found if isinstance(message, Junk)]


RUBBISH = {
    "empty lines": b"\r\n\r\n\n\n",
    "another header": b"Content-Type: x\r\n\r\n",
    "no number": b"Content-Length: none\r\n\r\n",
    "a negative number": b"Content-Length: -5\r\n\r\n",
    "a fraction": b"Content-Length: 5.5\r\n\r\n",
    "a word": b"hello\r\n",
    "a long line": b"x" * (LONGEST_HEADER + 1) + b"\r\n\r\n",
    "a longer line": b"x" * (5 * LONGEST_HEADER),
    "no line at all": b'{"jsonrpc": "2.0"}',
    "lines of JSON": GOOD + b"\n" + GOOD + b"\n",
    "null bytes": b"\0" * 1000,
    "null bytes and lines": b"\0\n\0\r\n\r\n\0",
    "a browser": b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\n" + GOOD,
    "half a header": b"Content-Len",
    "a message that is cut off": b"Content-Length: 90\r\n\r\n" + GOOD[:20],
    "a message that is far too short": b"Content-Length: 1000000\r\n\r\n" + GOOD,
    "a message that is longer than it says": b"Content-Length: 10\r\n\r\n" + GOOD[:10] + b", 5]",
    "several lengths": b"Content-Length: 7\r\nContent-Length: 99\r\n",
    "a length without an end": b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n",
    "too long a message": b"Content-Length: %d\r\n\r\n{" % (LONGEST_MESSAGE + 1),
}


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
@pytest.mark.parametrize("name", list(RUBBISH))
def test_the_message_behind_rubbish_is_found(name: str, size: int) -> None:
    rubbish = RUBBISH[name]
    stream = frame(GOOD) + rubbish + frame(GOOD) + frame(b"[]")
    decoder = Decoder()
    found = [found for at in range(0, len(stream), size) for found in decoder.feed(stream[at : at + size])]
    whole = messages(found)
    assert (whole[0], *whole[-2:]) == (GOOD, GOOD, b"[]")
    assert len(whole) == 3 + (name == "a message that is longer than it says")
    assert len(reasons(found)) == (0 if name in ("empty lines", "several lengths") else 1)


def test_what_lacks_a_header_is_told_at_once() -> None:
    assert reasons(Decoder().feed(b"{")) == ["bytes without a header"]
    decoder = Decoder()
    assert reasons(decoder.feed(b"x" * 100)) == [] and reasons(decoder.feed(b"\n")) == [
        "a line that is not a header"
    ]
    assert reasons(decoder.feed(b"more\nof it\n" * 100)) == []  # once


@given(st.lists(st.sampled_from([*RUBBISH.values(), frame(b"{}"), b"\n", b"Content-"]), max_size=6))
def test_any_rubbish_and_then_a_message(parts: list[bytes]) -> None:
    assert messages(Decoder().feed(b"".join(parts) + frame(GOOD)))[-1] == GOOD


def test_a_header_inside_of_a_string_is_text() -> None:
    body = json.dumps({"text": "\nContent-Length: 5\r\n\r\nhello", "pretty": [1, 2]}, indent=1).encode()
    assert list(Decoder().feed(frame(body))) == [body]


def test_a_message_that_does_not_end_is_given_up() -> None:
    decoder = Decoder()
    assert list(decoder.feed(b"Content-Length: 50000000\r\n\r\n" + b"x" * 1000)) == []
    assert decoder.unfinished
    assert decoder.give_up().reason == "a message does not end"
    assert list(decoder.feed(b"")) == [] and not decoder.unfinished
    assert list(decoder.feed(b"x" * 100 + frame(GOOD))) == [GOOD]


def test_much_rubbish_keeps_little() -> None:
    rng = random.Random(5)
    decoder = Decoder()
    for _ in range(50):
        list(decoder.feed(rng.randbytes(1 << 20)))
        assert len(decoder._buffer) < 3 * LONGEST_HEADER or decoder.unfinished
    assert messages(decoder.feed(frame(GOOD)))[-1] == GOOD


def test_who_speaks_no_lsp_is_known_by_the_first_bytes() -> None:
    for first in (b"", b"C", b"Content-", b"content-type: x", b"CONTENT-LENGTH: 5"):
        assert may_begin_message(first)
    for first in (b"G", b"GET / HTTP/1.1", b"POST", b"{", b"\r\n", b"\x16\x03\x01", b"CONNECT x"):
        assert not may_begin_message(first)


def test_header_names_in_any_case_and_other_headers() -> None:
    message = b"content-type: application/vscode-jsonrpc; charset=utf-8\r\nCONTENT-LENGTH:2\r\n\r\n{}"
    assert list(Decoder().feed(message)) == [b"{}"]


def test_a_message_that_is_too_long_is_skipped_without_keeping_it() -> None:
    decoder = Decoder()
    length = LONGEST_MESSAGE + 1
    assert len(reasons(decoder.feed(b"Content-Length: %d\r\n\r\n" % length))) == 1
    for _ in range(64):
        assert list(decoder.feed(b"x" * (1 << 20))) == []
        assert len(decoder._buffer) < LONGEST_HEADER
    assert list(decoder.feed(b"x" + frame(b"[]"))) == [b"[]"]
