"""JSON-RPC through pygls: typed parameters in, typed results out, and an answer to every request.

pygls 2.1 leaves a request with wrong parameters without an answer, shows internal errors in pop-ups, logs every
cancelled request with a traceback and can give a client's response to one of the client's own requests. Those paths
are taken over here; documents and the life cycle are not pygls's business at all (``documents``, ``session``).
"""

from __future__ import annotations

import contextvars
import json
import logging
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Literal

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol

from smem_lsp.output.layout_text import DEFAULT_WIDTH
from smem_lsp.output.version import TOOL, VERSION
from smem_lsp.source.record import dataclass

LAYOUT = "smem/layout"
EXPLAIN = "smem/explain"
TARGETS = "smem/targets"
KERNELS = "smem/kernels"
RACE = "smem/race"
STRIPES = "smem/stripes"
APPLY_LAYOUT = "smem/applyLayout"
FILES = "smem/files"
CHECK = "smem/check"

logger = logging.getLogger(__name__)


@dataclass
class LayoutParams:
    """Fields are named as on the wire."""

    textDocument: types.TextDocumentIdentifier
    position: types.Position
    format: Literal["json", "text", "svg", "html"] = "json"
    width: int = DEFAULT_WIDTH  # columns of the text, where names allow
    instance: str | None = None  # of a template, `k<256>`: the first of the kernel that is called so


@dataclass
class LayoutRequest:
    """``smem/layout``: the memory map of the kernel at a position, as ``smem-lsp layout`` prints it. Formats other than
    JSON come as ``{"text": …}``, ``{"svg": …}`` or ``{"html": …}``."""

    id: int | str
    params: LayoutParams
    method: str = LAYOUT
    jsonrpc: str = "2.0"


@dataclass
class ExplainParams:
    code: str  # or the name of a rule


@dataclass
class ExplainRequest:
    """``smem/explain``: the page of a rule, as ``smem-lsp explain --format json`` prints it."""

    id: int | str
    params: ExplainParams
    method: str = EXPLAIN
    jsonrpc: str = "2.0"


@dataclass
class DocumentParams:
    textDocument: types.TextDocumentIdentifier


@dataclass
class TargetsRequest:
    """``smem/targets``: ``{targets, ruling, worst}`` of a document: the targets in force, those that everything shown
    speaks of, and the one with the least shared memory."""

    id: int | str
    params: DocumentParams
    method: str = TARGETS
    jsonrpc: str = "2.0"


@dataclass
class KernelsRequest:
    """``smem/kernels``: ``[{name, title, position, first, last}]`` of a document, those with shared memory: what their
    lenses say, where their names stand, and their lines, 0-based."""

    id: int | str
    params: DocumentParams
    method: str = KERNELS
    jsonrpc: str = "2.0"


@dataclass
class PositionParams:
    textDocument: types.TextDocumentIdentifier
    position: types.Position


@dataclass
class RaceRequest:
    """``smem/race``: the two threads of a race that touches a position, step by step; see ``race_replay``."""

    id: int | str
    params: PositionParams
    method: str = RACE
    jsonrpc: str = "2.0"


@dataclass
class StripesRequest:
    """``smem/stripes``: where the buffer at a position holds a value; see ``stripes``."""

    id: int | str
    params: PositionParams
    method: str = STRIPES
    jsonrpc: str = "2.0"


@dataclass
class ApplyLayoutParams:
    textDocument: types.TextDocumentIdentifier
    position: types.Position
    barriers: int  # that the layout adds


@dataclass
class ApplyLayoutRequest:
    """``smem/applyLayout``: ``{title, detail, text, edit}`` that makes the kernel at a position look like a layout of
    its map; ``text`` is the whole document then, for a comparison. ``{refused}``: why there is no such edit."""

    id: int | str
    params: ApplyLayoutParams
    method: str = APPLY_LAYOUT
    jsonrpc: str = "2.0"


@dataclass
class FilesRequest:
    """``smem/files``: URIs of the CUDA files of all workspace folders, those that are open first."""

    id: int | str
    params: dict[str, Any] | None = None
    method: str = FILES
    jsonrpc: str = "2.0"


@dataclass
class CheckRequest:
    """``smem/check``: the diagnostics of a file, open or not."""

    id: int | str
    params: DocumentParams
    method: str = CHECK
    jsonrpc: str = "2.0"


_OWN_MESSAGES: dict[str, type[Any]] = {
    LAYOUT: LayoutRequest,
    EXPLAIN: ExplainRequest,
    TARGETS: TargetsRequest,
    KERNELS: KernelsRequest,
    RACE: RaceRequest,
    STRIPES: StripesRequest,
    APPLY_LAYOUT: ApplyLayoutRequest,
    FILES: FilesRequest,
    CHECK: CheckRequest,
}


class RequestFailed(JsonRpcException):
    """Raised by a handler to answer its request with this error."""


def invalid_params(why: str) -> RequestFailed:
    return RequestFailed(why, types.ErrorCodes.InvalidParams)


def request_failed(why: str) -> RequestFailed:
    return RequestFailed(why, types.LSPErrorCodes.RequestFailed)


def content_modified() -> RequestFailed:
    return RequestFailed("the text has changed since", types.LSPErrorCodes.ContentModified)


def server_cancelled() -> RequestFailed:
    """The text changed while a pull of diagnostics waited: let the client ask again."""
    data = {"retriggerRequest": True}
    return RequestFailed("the text has changed since", types.LSPErrorCodes.ServerCancelled, data)


@dataclass(frozen=True, slots=True)
class _Sender:
    """Where pygls writes to."""

    send: Callable[[bytes], None]

    def write(self, data: bytes) -> None:
        self.send(data)

    def close(self) -> None:
        pass


class Protocol(LanguageServerProtocol):
    """One client's messages. Everything is called on the event loop."""

    def _register_builtin_features(self) -> None:
        """Register none of pygls's features: its documents split lines where LSP does not."""

    def receive(self, message: dict[str, Any]) -> None:
        """Handle a request or a notification that is a JSON-RPC object with a method."""
        method = message["method"]
        request = "id" in message
        if method not in self.fm.features and method != types.CANCEL_REQUEST:
            if request:
                self._refuse(message["id"], types.ErrorCodes.MethodNotFound, f"no such method: {method}")
            elif not method.startswith("$/"):
                logger.info("%s is ignored", method)
            return
        takes_answer = _is_request(self._message_type(method))
        if request and not takes_answer:
            self._refuse(
                message["id"], types.ErrorCodes.InvalidRequest, f"{method} is a notification, not a request"
            )
            return
        if takes_answer and not request:
            logger.warning("%s without an id is ignored", method)
            return
        try:
            typed = self._converter.structure(message, self._message_type(method))
        except Exception as error:  # noqa: BLE001  (what lsprotocol's hooks raise on a wrong value is not one class)
            logger.warning("%s with wrong parameters: %s", method, _first_cause(error))
            if request:
                self._refuse(
                    message["id"], types.ErrorCodes.InvalidParams, f"wrong parameters: {_first_cause(error)}"
                )
            return
        context = contextvars.copy_context()
        if request:
            context.run(self._handle_request, typed.id, method, typed.params)
        else:
            context.run(self._handle_notification, method, getattr(typed, "params", None))

    def receive_response(self, message: dict[str, Any]) -> None:
        """Hand a response to whoever sent the request."""
        identity = message["id"]
        if not isinstance(identity, str) or identity not in self._result_types:
            logger.info("a response to no request of ours is ignored")
            return
        expected = self._result_types.pop(identity)
        future = self._request_futures.pop(identity, None)
        if future is None or future.done():
            return
        if "error" in message:
            error = message["error"] if isinstance(message["error"], dict) else {}
            future.set_exception(RequestFailed(str(error.get("message", "no reason given"))))
            return
        try:
            result = (
                self._converter.structure(message, expected).result if expected else message.get("result")
            )
        except Exception as error:  # noqa: BLE001  (see `receive`)
            future.set_exception(RequestFailed(f"a wrong response: {_first_cause(error)}"))
        else:
            future.set_result(result)

    def _message_type(self, method: str) -> type[Any]:
        known: type[Any] | None = _OWN_MESSAGES.get(method) or self.get_message_type(method)
        assert known is not None, method  # every feature is LSP's or ours
        return known

    def _send_handler_result(self, future: Future[Any], *, msg_id: int | str) -> None:
        self._request_futures.pop(msg_id, None)
        if future.cancelled():
            self._refuse(msg_id, types.LSPErrorCodes.RequestCancelled, "cancelled")
            return
        error = future.exception()
        if error is None:
            self._send_result(msg_id, future.result())
        elif isinstance(error, JsonRpcException):
            self._refuse(msg_id, error.code, error.message, error.data)
        else:
            logger.error("a request failed", exc_info=error)
            self._refuse(msg_id, types.ErrorCodes.InternalError, "internal error, see the server's log")

    def _send_result(self, identity: int | str, result: object) -> None:
        try:
            self._send_response(identity, result=result)
        except Exception:  # a result that is no JSON is a defect of ours: the client still gets an answer
            logger.exception("a result could not be sent")
            self._refuse(identity, types.ErrorCodes.InternalError, "internal error, see the server's log")

    def _handle_cancel_notification(self, msg_id: int | str) -> None:
        # pygls would accept an id of any type, and log an error when the request has been answered already.
        if not isinstance(msg_id, int | str) or msg_id in self._result_types:
            return
        future = self._request_futures.get(msg_id)
        if future is not None:
            future.cancel()

    def _send_data(self, data: Any) -> None:
        assert self.writer is not None
        self.writer.write(json.dumps(data, default=self._serialize_message).encode())

    def plain(self, value: object) -> object:
        """An object of LSP as the JSON that it is sent as."""
        return self._converter.unstructure(value)

    def _refuse(self, identity: int | str, code: int, message: str, data: object = None) -> None:
        error: dict[str, object] = {"code": int(code), "message": message}
        if data is not None:
            error["data"] = data
        self._send_data({"jsonrpc": "2.0", "id": identity, "error": error})


class Server(LanguageServer):
    """pygls's server, but errors go to the log instead of a pop-up."""

    protocol: Protocol

    def report_server_error(self, error: Exception, source: Any) -> None:
        logger.error("%s", error, exc_info=error)


def make_server(send: Callable[[bytes], None]) -> Server:
    """A server without handlers whose messages go to ``send``."""
    server = Server(TOOL, VERSION, protocol_cls=Protocol)
    server.protocol.set_writer(_Sender(send), include_headers=False)
    return server


def _is_request(message: type[Any]) -> bool:
    """In lsprotocol a request's type has an ``id``, a notification's has none."""
    return "id" in message.__annotations__


def _first_cause(error: BaseException) -> str:
    """The innermost reason in one line, clipped; cattrs nests one exception group per level of the message."""
    while inner := getattr(error, "exceptions", ()):
        error = inner[0]
    words = " ".join(str(error).split()) or type(error).__name__
    return words if len(words) <= 200 else f"{words[:200]}…"
