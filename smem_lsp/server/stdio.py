"""One client on stdin and stdout.

One thread reads stdin and another writes stdout, so neither a busy handler nor an analysis delays reading, and a client
that reads nothing does not stop the event loop. Both directions are bounded: reading pauses while too many messages
wait, and no message is handled while too many answers lie unread.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from smem_lsp.server.framing import frame
from smem_lsp.server.inbox import Inbox
from smem_lsp.server.outbox import MOST_UNSENT, Outbox
from smem_lsp.server.parent import watch_parent
from smem_lsp.server.process import log_exception, prepare
from smem_lsp.server.session import Session
from smem_lsp.server.thread_worker import ThreadWorker

_CHUNK = 1 << 16  # bytes
_CHUNKS = 64  # that may be on their way to the loop
_LEAVE = 2.0  # seconds that the last answers get


def serve_stdio() -> int:
    """Serve until the client leaves. 0 after ``shutdown``, else 1 (LSP 3.17, "Exit Notification")."""
    prepare()
    return asyncio.run(_serve(_take_stdout()))


def _take_stdout() -> int:
    """Keep stdout for messages: whatever else is printed goes to stderr. Returns the descriptor to write to."""
    sys.stdout.flush()
    own = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return own


async def _serve(output: int) -> int:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(log_exception)
    finished: asyncio.Future[int] = loop.create_future()

    def close(code: int) -> None:
        if not finished.done():
            finished.set_result(code)

    def send(body: bytes) -> None:
        outbox.put(frame(body))
        if outbox.unsent > MOST_UNSENT:
            inbox.hold()

    reader = _StdinReader(loop)
    outbox = Outbox(
        output,
        room=lambda: reader.post(inbox.release),
        broken=lambda: reader.post(session.disconnected),
    )
    session = Session(send, close, ThreadWorker(loop))
    inbox = Inbox(session, reader.allow)
    reader.start(inbox)
    watch = asyncio.ensure_future(watch_parent(session))
    try:
        return await finished
    finally:
        watch.cancel()
        session.dispose()
        inbox.close()
        outbox.close(_LEAVE)


class _StdinReader:
    """Reads stdin on a thread of its own, except while ``allow(False)`` holds."""

    __slots__ = ("_allowed", "_loop", "_slots")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._allowed = threading.Event()
        self._allowed.set()
        self._slots = threading.Semaphore(_CHUNKS)

    def allow(self, read: bool) -> None:
        if read:
            self._allowed.set()
        else:
            self._allowed.clear()

    def start(self, inbox: Inbox) -> None:
        threading.Thread(target=self._read, args=(inbox,), daemon=True, name="stdin").start()

    def post(self, call: Callable[[], None]) -> None:
        """Call it on the event loop; ignored when the session is over and the loop closed."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(call)

    def _read(self, inbox: Inbox) -> None:
        # The descriptor, not sys.stdin: its lock would be held when the interpreter goes away.
        descriptor = sys.stdin.fileno()
        while True:
            self._slots.acquire()
            self._allowed.wait()
            data = os.read(descriptor, _CHUNK)
            if not data:
                self.post(inbox.end)
                return
            self.post(partial(self._feed, inbox, data))

    def _feed(self, inbox: Inbox, data: bytes) -> None:
        self._slots.release()
        inbox.feed(data)
