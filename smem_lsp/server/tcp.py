"""Clients over TCP, each with a session of its own; all share one worker.

Whoever reaches the port may be anybody: another user of the machine, a page in a browser. So no client can make the
server run a program (``handshake``). It listens on the loopback interface only, unless ``--allow-remote`` is given;
then, or with ``--token-file``, a client needs a token. A connection ends when its first bytes are not LSP's, such as
the HTTP request of a page, when ``initialize`` does not come in time, and when many came after it that are as silent:
whoever connects and begins is served, whatever others do that do not begin.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import logging
import secrets
import socket
import sys
from collections.abc import Callable

from smem_lsp.server.framing import LONGEST_BEGIN, LONGEST_GREETING, frame, may_begin_message
from smem_lsp.server.inbox import Inbox
from smem_lsp.server.outbox import MOST_UNSENT
from smem_lsp.server.process import log_exception, prepare
from smem_lsp.server.session import Refusal, Session
from smem_lsp.server.thread_worker import ThreadWorker
from smem_lsp.server.worker import Worker

MOST_CLIENTS = 16
MOST_STRANGERS = 64  # connections that have not begun; each holds a few megabytes at most
TIME_TO_BEGIN = 30.0  # seconds until ``initialize`` has come
FREE_TRIES = 3  # wrong tokens that are answered at once; each further one is answered later
LONGEST_DELAY = 10.0  # seconds before a wrong token is answered
_REFUSED = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

logger = logging.getLogger(__name__)


class NotAllowed(Exception):
    """We must not listen on this address; the message is one line."""


def serve_tcp(host: str, port: int, *, allow_remote: bool, token: str | None) -> int:
    """Serve every client that connects, until interrupted. ``token`` None: made up where one is needed."""
    prepare()
    try:
        addresses = _addresses(host, port, allow_remote=allow_remote)
        if token is None and allow_remote:
            token = secrets.token_urlsafe(32)
            print(f"smem-lsp: the token for this run is {token}", file=sys.stderr, flush=True)
        asyncio.run(_serve(addresses, port, Door(token)))
    except NotAllowed as error:
        logger.error("cannot listen on %s:%d: %s", host, port, error)
        return 2
    except OSError as error:
        logger.error("cannot listen on %s:%d: %s", host, port, error.strerror or error)
        return 2
    return 0


def _addresses(host: str, port: int, *, allow_remote: bool) -> list[str]:
    """Where to listen, names resolved once. Raises NotAllowed, OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    if not allow_remote:
        for address in addresses:
            if not ipaddress.ip_address(address.partition("%")[0]).is_loopback:
                raise NotAllowed(f"{address} can be reached from other machines; that needs --allow-remote")
    return addresses


class Door:
    """Which clients are accepted: at most ``MOST_CLIENTS`` at once, and only with the token if there is one. Until then
    they are strangers; where there are too many, the one that came first has to leave."""

    __slots__ = ("_clients", "_failures", "_strangers", "_token")

    def __init__(self, token: str | None) -> None:
        self._token = token
        self._failures = 0
        self._strangers: dict[
            object, Callable[[], None]
        ] = {}  # in the order in which they came; how each leaves
        self._clients: set[object] = set()

    def knock(self, who: object, send_away: Callable[[], None]) -> None:
        """A connection was made."""
        if len(self._strangers) >= MOST_STRANGERS:
            logger.warning("a connection ends: %d others have not sent initialize, either", MOST_STRANGERS)
            self._strangers.pop(next(iter(self._strangers)))()
        self._strangers[who] = send_away

    def admit(self, who: object, shown: object) -> Refusal | None:
        """None: it is accepted. ``shown``: its token."""
        refusal = self._refusal(shown)
        if refusal is None:
            self._strangers.pop(who, None)
            self._clients.add(who)
        return refusal

    def leave(self, who: object) -> None:
        """The connection has ended."""
        self._strangers.pop(who, None)
        self._clients.discard(who)

    def _refusal(self, shown: object) -> Refusal | None:
        if self._token is not None:
            given = shown.encode("utf-8", "surrogatepass") if isinstance(shown, str) else b""
            if not hmac.compare_digest(given, self._token.encode()):
                self._failures += 1
                more = self._failures - FREE_TRIES
                seconds = 0.0 if more <= 0 else min(0.25 * 2 ** min(more, 10), LONGEST_DELAY)
                return Refusal(seconds, "wrong token in initializationOptions.token")
            self._failures = 0
        if len(self._clients) >= MOST_CLIENTS:
            return Refusal(0.0, f"there are {MOST_CLIENTS} clients already")
        return None


class _Socket(asyncio.Protocol):
    """One TCP client."""

    def __init__(self, worker: Worker, door: Door) -> None:
        self._worker = worker
        self._door = door
        self._first = b""  # the first bytes, until it is clear whether they begin a message
        self._begun = False
        self._limit: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport | None = None
        self._inbox: Inbox | None = None
        self._session: Session | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._door.knock(self, transport.abort)
        transport.set_write_buffer_limits(high=LONGEST_GREETING)

        def send(body: bytes) -> None:
            if not transport.is_closing():
                transport.write(frame(body))

        def read(more: bool) -> None:
            if transport.is_closing():
                return
            if more:
                transport.resume_reading()
            else:
                transport.pause_reading()

        def admit(token: object) -> Refusal | None:
            refusal = self._door.admit(self, token)
            if refusal is None:
                transport.set_write_buffer_limits(high=MOST_UNSENT)
            return refusal

        self._session = Session(send, lambda code: transport.close(), self._worker, admit=admit, remote=True)
        self._inbox = Inbox(self._session, read)
        self._limit = asyncio.get_running_loop().call_later(TIME_TO_BEGIN, self._too_late)

    def data_received(self, data: bytes) -> None:
        if self._inbox is None or self._transport is None or self._transport.is_closing():
            return
        if not self._begun:
            data = self._first + data
            if not may_begin_message(data):
                logger.warning("connection refused: the client does not speak LSP")
                self._transport.write(_REFUSED)
                self._transport.close()
                return
            self._begun = len(data) >= LONGEST_BEGIN
            self._first = b"" if self._begun else data
            if not self._begun:
                return
        self._inbox.feed(data)

    def pause_writing(self) -> None:
        if self._inbox is not None:
            self._inbox.hold()

    def resume_writing(self) -> None:
        if self._inbox is not None:
            self._inbox.release()

    def connection_lost(self, error: Exception | None) -> None:
        self._door.leave(self)
        if self._limit is not None:
            self._limit.cancel()
        if self._inbox is not None:
            self._inbox.close()
        if self._session is not None:
            self._session.dispose()

    def _too_late(self) -> None:
        assert self._session is not None and self._transport is not None
        if not self._session.begun:
            logger.warning("connection refused: the client did not send initialize in time")
            self._transport.abort()


async def _serve(addresses: list[str], port: int, door: Door) -> None:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(log_exception)
    worker = ThreadWorker(loop)
    server = await loop.create_server(lambda: _Socket(worker, door), addresses, port)
    for listener in server.sockets:
        logger.info("listening on %s port %d", *listener.getsockname()[:2])
    async with server:
        await server.serve_forever()
