"""Bytes between a client and its session: stdio or TCP, one event loop, one worker for all analyses.

stdin is read by a thread of its own, so neither a busy handler nor an analysis ever delays reading; everything that
is read is handled on the loop, one message a turn, so that a handler starts before the next message changes anything.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
import threading
from collections import deque
from typing import BinaryIO

from smem_lsp.server.framing import Decoder, frame
from smem_lsp.server.session import Session
from smem_lsp.server.worker import Worker

SWITCH_INTERVAL = 0.0005  # seconds: how long an analysis may keep the loop from running
PARENT_INTERVAL = 3.0  # seconds between two looks whether the editor is still there
_CHUNK = 1 << 16

logger = logging.getLogger(__name__)


def serve_stdio() -> int:
    """Serve one client on stdin and stdout. 0 after ``shutdown``, else 1 (LSP 3.17, "Exit Notification")."""
    _prepare()
    with _take_stdout() as output:
        return asyncio.run(_stdio(output))


def serve_tcp(host: str, port: int) -> int:
    """Serve every client that connects, until interrupted. Each has its own session; all share one worker."""
    _prepare()
    try:
        asyncio.run(_tcp(host, port))
    except OSError as error:
        logger.error("cannot listen on %s:%d: %s", host, port, error.strerror or error)
        return 2
    return 0


def _prepare() -> None:
    logging.basicConfig(stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s", level=logging.INFO)
    logging.getLogger("pygls").setLevel(
        logging.CRITICAL
    )  # it logs whole messages; what matters is logged here
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    sys.setswitchinterval(SWITCH_INTERVAL)
    gc.disable()  # the worker collects when there is time


def _take_stdout() -> BinaryIO:
    """stdout for messages alone: what anything else prints goes to stderr."""
    sys.stdout.flush()
    own = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return os.fdopen(own, "wb", buffering=0)


async def _stdio(output: BinaryIO) -> int:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(_log_exception)
    finished: asyncio.Future[int] = loop.create_future()

    def close(code: int) -> None:
        if not finished.done():
            finished.set_result(code)

    def send(body: bytes) -> None:
        try:
            _write(output, frame(body))
        except OSError:
            close(session.exit_code)  # nobody reads any more

    session = Session(send, close, Worker(loop))
    inbox = Inbox(session)
    threading.Thread(target=_read_stdin, args=(loop, inbox), daemon=True, name="stdin").start()
    watch = asyncio.ensure_future(_watch_parent(session))
    try:
        return await finished
    finally:
        watch.cancel()
        session.dispose()


def _read_stdin(loop: asyncio.AbstractEventLoop, inbox: Inbox) -> None:
    # The descriptor, not sys.stdin: its lock would be held when the interpreter goes away.
    descriptor = sys.stdin.fileno()
    try:
        while data := os.read(descriptor, _CHUNK):
            loop.call_soon_threadsafe(inbox.feed, data)
        loop.call_soon_threadsafe(inbox.end)
    except RuntimeError:
        pass  # the loop is closed: the session is over


def _write(output: BinaryIO, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[output.write(view) :]


async def _watch_parent(session: Session) -> None:
    """End the session when the editor is gone without a word. A pipe may be held open by others of its children."""
    while session.parent is None:
        await asyncio.sleep(PARENT_INTERVAL)
    while _alive(session.parent):
        await asyncio.sleep(PARENT_INTERVAL)
    logger.error("the editor (process %d) is gone", session.parent)
    session.disconnected()


def _alive(process: int) -> bool:
    if os.name == "nt":
        return True  # os.kill would end it; the end of stdin has to do there
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # somebody else's
    return True


class Inbox:
    """Messages that wait for their turn."""

    __slots__ = ("_decoder", "_ended", "_loop", "_messages", "_session")

    def __init__(self, session: Session) -> None:
        self._session = session
        self._decoder = Decoder()
        self._messages: deque[bytes] = deque()
        self._ended = False
        self._loop = asyncio.get_running_loop()

    def feed(self, data: bytes) -> None:
        idle = not self._messages
        self._messages.extend(self._decoder.feed(data))
        if idle and self._messages:
            self._loop.call_soon(self._next)

    def end(self) -> None:
        """No more bytes will come."""
        self._ended = True
        if not self._messages:
            self._session.disconnected()

    def _next(self) -> None:
        try:
            self._session.receive(self._messages[0])
        finally:
            self._messages.popleft()
            if self._messages:
                self._loop.call_soon(self._next)
            elif self._ended:
                self._session.disconnected()


class _Socket(asyncio.Protocol):
    """One TCP client."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._inbox: Inbox | None = None
        self._session: Session | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)

        def send(body: bytes) -> None:
            if not transport.is_closing():
                transport.write(frame(body))

        self._session = Session(send, lambda code: transport.close(), self._worker)
        self._inbox = Inbox(self._session)

    def data_received(self, data: bytes) -> None:
        assert self._inbox is not None
        self._inbox.feed(data)

    def connection_lost(self, error: Exception | None) -> None:
        assert self._session is not None
        self._session.dispose()


async def _tcp(host: str, port: int) -> None:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(_log_exception)
    worker = Worker(loop)
    server = await loop.create_server(lambda: _Socket(worker), host, port)
    for listener in server.sockets:
        logger.info("listening on %s port %d", *listener.getsockname()[:2])
    async with server:
        await server.serve_forever()


def _log_exception(loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
    error = context.get("exception")
    logger.error("%s", context.get("message"), exc_info=error if isinstance(error, BaseException) else None)
