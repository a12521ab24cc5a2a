"""The language server inside another program: no thread, no pipe, no process of its own.

For a page in a browser, whose Python has an event loop and nothing else, and for tests. The host hands over each
message as it comes; everything else happens on the host's event loop, one job at a time (``idle_worker``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from smem_lsp.server.idle_worker import IdleWorker
from smem_lsp.server.session import Session


class InProcessServer:
    """One conversation. To be made and called on the running event loop; no method raises or blocks for long.

    ``send`` takes the body of each message to the client: JSON in UTF-8, without a header. ``when_idle`` says when the
    server works (``IdleWorker``). No compiler is run: such a host has none, or does not know the client.
    """

    __slots__ = ("_session", "exit_code")

    def __init__(
        self,
        send: Callable[[bytes], None],
        when_idle: Callable[[Callable[[], None]], object] | None = None,
    ) -> None:
        worker = IdleWorker(asyncio.get_running_loop(), when_idle)
        self.exit_code: int | None = None  # once the client has left: 0 after ``shutdown``, else 1
        self._session = Session(send, self._closed, worker, remote=True)

    def receive(self, body: bytes) -> None:
        """Handle one message of the client, a JSON-RPC object in UTF-8."""
        self._session.receive(body)

    def close(self) -> None:
        """The client is gone."""
        self._session.disconnected()

    def _closed(self, code: int) -> None:
        self.exit_code = code
        self._session.dispose()
