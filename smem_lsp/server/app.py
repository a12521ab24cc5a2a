"""The server of one client, behind the handshake: every message has its handler here."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from functools import partial

from smem_lsp.server import (
    code_action_requests,
    document_messages,
    page_requests,
    reading_requests,
    view_requests,
)
from smem_lsp.server.analysis import warm_up
from smem_lsp.server.answering import Handler
from smem_lsp.server.handshake import Client
from smem_lsp.server.outgoing import Outgoing
from smem_lsp.server.protocol import Protocol, make_server
from smem_lsp.server.worker import Worker
from smem_lsp.server.workspace import Workspace

logger = logging.getLogger(__name__)


class App:
    """The server of one client, behind the handshake."""

    __slots__ = ("protocol", "workspace")

    def __init__(self, client: Client, send: Callable[[bytes], None], worker: Worker) -> None:
        server = make_server(send)
        self.protocol: Protocol = server.protocol
        self.workspace = Workspace(client, Outgoing(server, client.features), worker)
        for method, handler in _handlers():
            server.feature(method)(partial(handler, self.workspace))
        if not worker.warm:
            worker.warm = True
            worker.submit(warm_up, seconds=None).add_done_callback(_log_failure)

    def stop(self) -> None:
        """No more analyses; whoever waits for one gets an empty answer."""
        self.workspace.stop()


def _log_failure(done: asyncio.Future[None]) -> None:
    if not done.cancelled() and (error := done.exception()) is not None:
        logger.error("warming up failed", exc_info=error)


def _handlers() -> Iterator[tuple[str, Handler]]:
    """Each method of LSP, or of ours, that is served."""
    for served in (
        document_messages,
        reading_requests,
        code_action_requests,
        page_requests,
        view_requests,
    ):
        yield from served.HANDLERS.items()
