"""One client's conversation from its first message to its last.

``initialize`` is answered from plain JSON; only then is everything else imported. After that this module enforces the
order of LSP 3.17 ("Server lifecycle"). Every request gets an answer, however malformed: with its id if that can be
read, else with null.
"""

from __future__ import annotations

import asyncio
import enum
import json
import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from smem_lsp.server.handshake import initialize_result, read_client, token_of
from smem_lsp.server.worker import Worker

if TYPE_CHECKING:
    from smem_lsp.server.app import App

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
NOT_INITIALIZED = -32002
REQUEST_FAILED = -32803

logger = logging.getLogger(__name__)


class Refusal(NamedTuple):
    """Why a client is not accepted."""

    seconds: float  # before it is told
    why: str  # one line


class _Stage(enum.Enum):
    NEW = enum.auto()
    OPEN = enum.auto()
    DOWN = enum.auto()  # shutdown was asked for
    REFUSED = enum.auto()  # and about to be told
    CLOSED = enum.auto()


class Session:
    """``send`` takes the body of a message (JSON in UTF-8), ``close`` the exit code; both are called on the event loop.

    ``admit``: accepts the client that shows a token, None, or refuses it; without it each is accepted.
    ``remote``: the client may be anybody, so no program is run for it.
    """

    __slots__ = ("_admit", "_app", "_close", "_remote", "_send", "_stage", "_worker", "parent")

    def __init__(
        self,
        send: Callable[[bytes], None],
        close: Callable[[int], None],
        worker: Worker,
        *,
        admit: Callable[[object], Refusal | None] | None = None,
        remote: bool = False,
    ) -> None:
        self._admit = admit
        self._remote = remote
        self._send = send
        self._close = close
        self._worker = worker
        self._stage = _Stage.NEW
        self._app: App | None = None
        self.parent: int | None = None  # the client's process, once it is known

    @property
    def exit_code(self) -> int:
        """What the process ends with if the client leaves now."""
        return 0 if self._stage is _Stage.DOWN else 1

    @property
    def unknown(self) -> bool:
        """Has a remote client not been accepted yet?"""
        return self._remote and not self.begun

    @property
    def begun(self) -> bool:
        """Has the client been accepted?"""
        return self._stage not in (_Stage.NEW, _Stage.REFUSED)

    def receive_junk(self, reason: str) -> None:
        """Bytes came that are not a message. ``reason``: one line."""
        logger.error("%s; it is skipped", reason)
        self._answer_error(None, PARSE_ERROR, reason)

    def receive(self, body: bytes) -> None:
        """Handle one message. Never raises."""
        try:
            message = json.loads(body)
        except (ValueError, RecursionError) as error:  # ValueError: no JSON, or no UTF-8
            logger.error("a message that is not JSON: %s", error)
            self._answer_error(None, PARSE_ERROR, "not JSON")
            return
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            logger.error("a message that is not a JSON-RPC 2.0 object")
            self._answer_error(_request_id(message), INVALID_REQUEST, "not a JSON-RPC 2.0 object")
            return
        try:
            self._dispatch(message)
        except Exception:  # the last line of defence: a defect of ours must not end the conversation
            logger.exception("a message could not be handled")
            if "method" in message and (identity := _request_id(message)) is not None:
                self._answer_error(identity, INTERNAL_ERROR, "internal error, see the server's log")

    def disconnected(self) -> None:
        """The client is gone."""
        if self._stage is not _Stage.CLOSED:
            code = self.exit_code
            self._stage = _Stage.CLOSED
            self._close(code)

    def dispose(self) -> None:
        """Stop all work: nothing can be sent any more."""
        self._stage = _Stage.CLOSED
        if self._app is not None:
            self._app.stop()

    def _dispatch(self, message: dict[str, object]) -> None:
        method = message.get("method")
        if self._stage is _Stage.REFUSED:
            return
        if method is None and "method" not in message:
            self._receive_response(message)
            return
        identity = _request_id(message)
        if "id" in message and identity is None:
            self._answer_error(None, INVALID_REQUEST, "an id must be a number or a string")
        elif not isinstance(method, str):
            self._answer_error(identity, INVALID_REQUEST, "a method must be a string")
        elif method == "exit":
            self._exit(identity)
        elif self._stage is _Stage.NEW:
            self._before_start(method, identity, message.get("params"))
        elif self._stage is not _Stage.OPEN:
            if identity is not None:
                self._answer_error(identity, INVALID_REQUEST, "the server is shutting down")
        elif method == "initialize":
            if identity is not None:
                self._answer_error(identity, INVALID_REQUEST, "initialized already")
            else:
                logger.warning("initialize without an id is ignored")
        elif method == "shutdown":
            self._shut_down(identity)
        else:
            assert self._app is not None
            self._app.protocol.receive(message)

    def _before_start(self, method: str, identity: int | str | None, params: object) -> None:
        if identity is None:
            return  # LSP: notifications before `initialize` are dropped
        if method != "initialize":
            self._answer_error(identity, NOT_INITIALIZED, "initialize comes first")
            return
        if not isinstance(params, Mapping) or not isinstance(params.get("capabilities"), Mapping):
            self._answer_error(identity, INVALID_PARAMS, "initialize needs capabilities")
            return
        refusal = None if self._admit is None else self._admit(token_of(params))
        if refusal is not None:
            logger.warning("a client is refused: %s", refusal.why)
            self._stage = _Stage.REFUSED
            asyncio.get_running_loop().call_later(refusal.seconds, self._refuse, identity, refusal.why)
            return
        client = read_client(params, remote=self._remote)
        self._answer(identity, initialize_result(client.features))
        self.parent = client.process
        from smem_lsp.server.app import App  # half a second: only now, behind the answer

        self._app = App(client, self._send, self._worker)
        self._stage = _Stage.OPEN

    def _refuse(self, identity: int | str, why: str) -> None:
        self._answer_error(identity, REQUEST_FAILED, why)
        self.disconnected()

    def _receive_response(self, message: dict[str, object]) -> None:
        if "id" not in message:
            self._answer_error(None, INVALID_REQUEST, "neither a method nor an id")
        elif self._app is not None:
            self._app.protocol.receive_response(message)
        else:
            logger.info("a response to no request of ours is ignored")

    def _exit(self, identity: int | str | None) -> None:
        if identity is not None:
            self._answer_error(identity, INVALID_REQUEST, "exit is a notification")
        else:
            self.disconnected()

    def _shut_down(self, identity: int | str | None) -> None:
        if identity is None:
            logger.warning("shutdown without an id is ignored")
            return
        assert self._app is not None
        self._stage = _Stage.DOWN
        self._app.stop()
        self._answer(identity, None)

    def _answer(self, identity: int | str, result: object) -> None:
        self._post({"jsonrpc": "2.0", "id": identity, "result": result})

    def _answer_error(self, identity: int | str | None, code: int, message: str) -> None:
        self._post({"jsonrpc": "2.0", "id": identity, "error": {"code": code, "message": message}})

    def _post(self, message: dict[str, object]) -> None:
        if self._stage is not _Stage.CLOSED:
            self._send(json.dumps(message).encode())


def _request_id(message: object) -> int | str | None:
    """The id of a message if it has a type that LSP allows, a number or a string; else None."""
    identity = message.get("id") if isinstance(message, dict) else None
    return identity if isinstance(identity, int | str) and not isinstance(identity, bool) else None
