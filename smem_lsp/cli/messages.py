"""Objects of ours between two of our processes: a length, then a pickle."""

from __future__ import annotations

import pickle
import struct
from typing import IO, Any

_LENGTH = struct.Struct(">Q")


def write_message(stream: IO[bytes], value: object) -> None:
    """Raises OSError where nobody reads."""
    body = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    stream.write(_LENGTH.pack(len(body)) + body)
    stream.flush()


def read_message(stream: IO[bytes]) -> Any:
    """Raises EOFError where nobody writes any more."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    (length,) = _LENGTH.unpack(head)
    body = stream.read(length)
    if len(body) < length:
        raise EOFError
    return pickle.loads(body)
