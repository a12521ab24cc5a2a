"""Messages out of bytes, whatever the bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smem_lsp.server.framing import LONGEST_HEADER, LONGEST_MESSAGE, Decoder, frame

bodies = st.lists(st.binary(max_size=40), max_size=5)


@given(bodies, st.lists(st.integers(1, 30), min_size=1))
def test_pieces_of_any_size(messages: list[bytes], sizes: list[int]) -> None:
    stream = b"".join(map(frame, messages))
    decoder = Decoder()
    found: list[bytes] = []
    at = count = 0
    while at < len(stream):
        size = sizes[count % len(sizes)]
        found += decoder.feed(stream[at : at + size])
        at, count = at + size, count + 1
    assert found == messages


@pytest.mark.parametrize(
    "rubbish",
    [
        b"\r\n\r\n",
        b"Content-Type: x\r\n\r\n",
        b"Content-Length: none\r\n\r\n",
        b"Content-Length: -5\r\n\r\n",
        b"hello\r\n",
        b"x" * (LONGEST_HEADER + 1) + b"\r\n\r\n",
    ],
)
def test_rubbish_is_skipped(rubbish: bytes) -> None:
    assert list(Decoder().feed(rubbish + frame(b"{}"))) == [b"{}"]


def test_header_names_in_any_case_and_other_headers() -> None:
    message = b"content-type: application/vscode-jsonrpc; charset=utf-8\r\nCONTENT-LENGTH:2\r\n\r\n{}"
    assert list(Decoder().feed(message)) == [b"{}"]


def test_a_message_that_is_too_long_is_skipped_without_keeping_it() -> None:
    decoder = Decoder()
    length = LONGEST_MESSAGE + 1
    assert list(decoder.feed(b"Content-Length: %d\r\n\r\n" % length)) == []
    for _ in range(64):
        assert list(decoder.feed(b"x" * (1 << 20))) == []
    assert list(decoder.feed(b"x" + frame(b"[]"))) == [b"[]"]
