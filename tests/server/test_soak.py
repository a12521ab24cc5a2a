"""A fiftieth of what ``tests/benchmarks/server_soak.py`` does, and clients that stop reading."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time

import pytest
from server.client import COMMAND, PATIENCE, ROOT, messages
from server.samples import PUSH, UNUSED
from server.soaking import peak_memory, soak


def test_every_request_is_answered_once_and_the_text_is_the_same() -> None:
    result = soak(edits=400, messages=2_000)
    print(result)
    assert result.requests > 500
    assert (result.unanswered, result.answered_twice, result.texts_that_differ, result.defects) == (
        0,
        0,
        0,
        0,
    )


@pytest.mark.slow(seconds=8)
@pytest.mark.parametrize("log_is_read", [True, False])
def test_a_client_that_stops_reading_stops_nothing_for_good(log_is_read: bool) -> None:
    """It writes 40 MB of questions whose answers are 120 MB, and of junk that fills the log, and reads nothing. The
    server waits, in bounded memory, and when the client reads it answers all of them."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    server = subprocess.Popen(
        COMMAND,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL if log_is_read else subprocess.PIPE,
        env=environment,
    )
    assert server.stdin is not None
    count, padding = 40_000, "x" * 900
    pipe = server.stdin

    def write(message: object) -> None:
        body = json.dumps(message).encode()
        pipe.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def ask() -> None:
        write({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"capabilities": PUSH}})
        item = {"uri": "file:///k.cu", "languageId": "cuda", "version": 1, "text": UNUSED}
        write({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": item}})
        for number in range(1, count + 1):
            params = {"code": "SMEM301", "padding": padding}
            write({"jsonrpc": "2.0", "id": number, "method": "smem/explain", "params": params})
            if number % 4 == 0:
                write({"jsonrpc": "2.0", "id": 1.5, "method": "textDocument/hover"})
                write("no message")
        pipe.flush()

    writer = threading.Thread(target=ask, daemon=True)
    try:
        writer.start()
        writer.join(8.0)
        assert writer.is_alive()  # the server does not take more than it can hold
        held = peak_memory(server.pid)
        seen: set[int] = set()
        started = time.monotonic()
        for message in messages(server):
            if isinstance(message.get("id"), int):
                assert message["id"] not in seen
                seen.add(message["id"])
            if len(seen) == count + 1:
                break
            assert time.monotonic() - started < 5 * PATIENCE
        writer.join(PATIENCE)
        print(f"{held / 1024:.0f} MiB while nobody read, {peak_memory(server.pid) / 1024:.0f} MiB at most")
        if sys.platform == "linux":
            assert held < 300 * 1024
    finally:
        server.kill()
        server.wait()
