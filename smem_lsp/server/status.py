"""One line about work in the background: LSP's work-done progress, where the client shows it."""

from __future__ import annotations

import asyncio
import logging

from lsprotocol import types

from smem_lsp.server.protocol import RequestFailed, Server

logger = logging.getLogger(__name__)


class Status:
    """At most one task is shown at a time. Every method belongs to the event loop."""

    __slots__ = ("_count", "_enabled", "_server", "_token")

    def __init__(self, server: Server, *, enabled: bool) -> None:
        self._server = server
        self._enabled = enabled
        self._count = 0
        self._token: asyncio.Task[str | None] | None = None

    def begin(self, title: str, message: str) -> None:
        """A task begins. Its ``title`` stays; ``report`` replaces its ``message``."""
        if self._enabled:
            self._count += 1
            token = f"smem-{self._count}"
            self._token = asyncio.ensure_future(self._created(token, title, message))

    def report(self, message: str) -> None:
        self._say(types.WorkDoneProgressReport(message=message))

    def end(self, message: str | None = None) -> None:
        """The task is over. ``message``: what went wrong, if anything."""
        self._say(types.WorkDoneProgressEnd(message=message))
        self._token = None

    async def _created(self, token: str, title: str, message: str) -> str | None:
        try:
            await self._server.window_work_done_progress_create_async(
                types.WorkDoneProgressCreateParams(token)
            )
        except RequestFailed as error:
            logger.debug("the client shows no progress: %s", error)
            return None
        begin = types.WorkDoneProgressBegin(title=title, message=message, cancellable=False)
        self._server.progress(types.ProgressParams(token, begin))
        return token

    def _say(self, value: types.WorkDoneProgressReport | types.WorkDoneProgressEnd) -> None:
        created = self._token
        if created is None:
            return

        def send(done: asyncio.Task[str | None]) -> None:
            token = None if done.cancelled() or done.exception() is not None else done.result()
            if token is not None:
                self._server.progress(types.ProgressParams(token, value))

        created.add_done_callback(send)
