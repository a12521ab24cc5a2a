"""A client as plain as the protocol: JSON over the pipes of a server process, nothing assumed about either side."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from server.ready import CAN_FORK, ForkedProcess

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "smem_lsp", "server")
PATIENCE = 120.0  # seconds; only a server that hangs needs them

Json = dict[str, Any]


class ResponseError(Exception):
    """The server answered with an error."""

    def __init__(self, error: Json) -> None:
        super().__init__(f"{error['code']}: {error['message']}")
        self.code: int = error["code"]
        self.data = error.get("data")


class Client:
    """One server process. Requests of the server get an answer at once; everything it sends is kept."""

    def __init__(
        self, command: tuple[str, ...] = COMMAND, *, settings: Any = None, cwd: Path | None = None
    ) -> None:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        self.process: subprocess.Popen[bytes] | ForkedProcess
        if command is COMMAND and CAN_FORK:
            self.process = ForkedProcess(environment, cwd or Path.cwd())
        else:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                cwd=cwd,
            )
        self.settings = settings  # what workspace/configuration is answered with; a callable gets the item
        self.held: list[Json] | None = None  # a list: questions for the configuration wait in it
        self.received: list[Json] = []  # notifications and requests of the server
        self.arrived = threading.Condition()
        self.log = ""
        self._answers: dict[int | str, Future[Any]] = {}
        self._next_id = 0
        self._writing = threading.Lock()
        self._threads = [
            threading.Thread(target=self._read, daemon=True),
            threading.Thread(target=self._read_log, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    # Sending

    def write(self, body: bytes) -> None:
        assert self.process.stdin is not None
        with self._writing:
            self.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            self.process.stdin.flush()

    def send(self, message: Any) -> None:
        self.write(json.dumps(message).encode())

    def notify(self, method: str, params: Any = None) -> None:
        message: Json = {"jsonrpc": "2.0", "method": method}
        self.send(message if params is None else {**message, "params": params})

    def ask(self, method: str, params: Any = None, identity: int | str | None = None) -> Future[Any]:
        """Send a request; the future gets its result or a ResponseError."""
        if identity is None:
            self._next_id += 1
            identity = self._next_id
        answer: Future[Any] = Future()
        self._answers[identity] = answer
        message: Json = {"jsonrpc": "2.0", "id": identity, "method": method}
        self.send(message if params is None else {**message, "params": params})
        return answer

    def request(self, method: str, params: Any = None) -> Any:
        return self.ask(method, params).result(PATIENCE)

    # Life cycle

    def initialize(
        self, capabilities: Mapping[str, Any] | None = None, *, folders: tuple[str, ...] = (), **params: Any
    ) -> Json:
        """The handshake; the result of ``initialize``."""
        named = [{"uri": uri, "name": uri.rpartition("/")[2]} for uri in folders]
        result: Json = self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": folders[0] if folders else None,
                "workspaceFolders": named or None,
                "capabilities": capabilities or {},
                **params,
            },
        )
        self.notify("initialized", {})
        return result

    def shut_down(self) -> int:
        """Leave as the protocol asks; the server's exit code."""
        self.request("shutdown")
        self.notify("exit")
        return self.process.wait(PATIENCE)

    def join(self) -> None:
        """Wait until everything that the server wrote has been read."""
        for thread in self._threads:
            thread.join(PATIENCE)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    # Documents

    def open(self, uri: str, text: str, *, language: str = "cuda-cpp", version: int = 1) -> None:
        item = {"uri": uri, "languageId": language, "version": version, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})

    def change(self, uri: str, version: int, *changes: Json) -> None:
        document = {"uri": uri, "version": version}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": list(changes)})

    def close(self, uri: str) -> None:
        self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def published(self, uri: str, version: int | None) -> list[Json]:
        """The diagnostics pushed for this version; waits for them."""
        params = self.wait_for(
            "textDocument/publishDiagnostics",
            lambda params: params["uri"] == uri and params.get("version") == version,
        )
        found: list[Json] = params["diagnostics"]
        return found

    def pulled(self, uri: str, previous: str | None = None) -> Json:
        params: Json = {"textDocument": {"uri": uri}}
        if previous is not None:
            params["previousResultId"] = previous
        found: Json = self.request("textDocument/diagnostic", params)
        return found

    def at(self, uri: str, line: int, character: int) -> Json:
        return {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}

    def hover(self, uri: str, line: int, character: int) -> str | None:
        found = self.request("textDocument/hover", self.at(uri, line, character))
        return None if found is None else found["contents"]["value"]

    def actions(
        self, uri: str, start: tuple[int, int], end: tuple[int, int] | None = None, **context: Any
    ) -> list[Json]:
        found: list[Json] = self.request(
            "textDocument/codeAction",
            {
                "textDocument": {"uri": uri},
                "range": span(start, end or start),
                "context": {"diagnostics": [], **context},
            },
        )
        return found

    # Receiving

    def wait_for(self, method: str, wanted: Callable[[Any], bool] = lambda params: True) -> Any:
        """The parameters of the first message of this kind, whether it is there or still to come."""
        limit = time.monotonic() + PATIENCE
        with self.arrived:
            while True:
                for message in self.received:
                    if message["method"] == method and wanted(message.get("params")):
                        return message.get("params")
                if self.process.poll() is not None:
                    raise AssertionError(f"the server has ended: {self.log}")
                if not self.arrived.wait(limit - time.monotonic()):
                    raise AssertionError(
                        f"no {method}; there was {[m['method'] for m in self.received]}\n{self.log}"
                    )

    def until(self, found: Callable[[], object], what: str = "what the test waits for") -> None:
        """Wait until ``found`` says so. It is asked again whenever something arrives, and now and then."""
        limit = time.monotonic() + PATIENCE
        while not found():
            assert time.monotonic() < limit, f"no {what}\n{self.log}"
            with self.arrived:
                self.arrived.wait(0.05)

    def logged(self, line: str) -> None:
        """Wait until the server has logged this."""
        self.until(lambda: line in self.log, f"{line!r} in the log")

    def release(self) -> None:
        """Answer the questions for the configuration that were held back, and those to come."""
        held, self.held = self.held or [], None
        for message in held:
            self._reply_to(message)

    def all_of(self, method: str) -> list[Any]:
        with self.arrived:
            return [message.get("params") for message in self.received if message["method"] == method]

    def unanswered(self, identities: Iterable[int], seconds: float) -> set[int]:
        """Those of the requests written by hand that get no answer within so many seconds."""
        missing = set(identities)
        limit = time.monotonic() + seconds
        with self.arrived:
            while True:
                for message in self.received:
                    if message["method"] == "answer to nothing":
                        missing.discard(message["params"]["id"])
                if not missing or not self.arrived.wait(limit - time.monotonic()):
                    return missing

    def _read(self) -> None:
        for message in messages(self.process):
            if "method" not in message:
                self._answered(message)
                continue
            with self.arrived:
                self.received.append(message)
                self.arrived.notify_all()
            if self.held is not None and message["method"] == "workspace/configuration":
                self.held.append(message)
            elif "id" in message:
                self._reply_to(message)
        with self.arrived:
            self.arrived.notify_all()
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(ConnectionError(f"the server is gone: {self.log}"))

    def _answered(self, message: Json) -> None:
        answer = None if message["id"] is None else self._answers.get(message["id"])
        if answer is None or answer.done():
            with self.arrived:
                self.received.append({"method": "answer to nothing", "params": message})
                self.arrived.notify_all()
            return
        if "error" in message:
            answer.set_exception(ResponseError(message["error"]))
        else:
            answer.set_result(message["result"])

    def _reply_to(self, message: Json) -> None:
        self.send({"jsonrpc": "2.0", "id": message["id"], "result": self._reply(message)})

    def _reply(self, message: Json) -> Any:
        if message["method"] != "workspace/configuration":
            return None
        items = message["params"]["items"]
        return [self.settings(item) if callable(self.settings) else self.settings for item in items]

    def _read_log(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self.arrived:
                self.log += line.decode("utf-8", "replace")
                self.arrived.notify_all()


def messages(process: subprocess.Popen[bytes]) -> Iterator[Json]:
    """What the server writes, until it ends."""
    assert process.stdout is not None
    while header := process.stdout.readline():
        name, _, length = header.partition(b":")
        assert name == b"Content-Length", header
        assert process.stdout.readline() == b"\r\n"
        yield json.loads(process.stdout.read(int(length)))


@contextmanager
def serving(
    capabilities: Mapping[str, Any] | None = None,
    *,
    settings: Any = None,
    hold_settings: bool = False,
    command: tuple[str, ...] = COMMAND,
    **params: Any,
) -> Iterator[Client]:
    """An initialized server that is ended with the test, and that must not have logged a defect.

    ``hold_settings``: it gets no answer about the configuration before ``release``.
    """
    params.setdefault("initializationOptions", {"settings": {"nvcc": "off"}})  # unless a test is about it
    client = Client(command, settings=settings)
    client.held = [] if hold_settings else None
    try:
        client.initialize(capabilities, **params)
        yield client
        assert client.shut_down() == 0, client.log
    finally:
        client.kill()
    client.join()
    assert "Traceback" not in client.log, client.log


def held_back(gate: Path) -> tuple[str, ...]:
    """A server whose analyses of texts with ``slow`` in them go on until the file ``gate`` exists: what a test wants to
    see while one is under way does not depend on how fast the machine is."""
    code = """\
import pathlib, sys, time
import smem_lsp.server.analysis as analysis
from smem_lsp.source.budget import look
gate, real = pathlib.Path(sys.argv[1]), analysis.check
def check(text, **rest):
    if "slow" in text:
        print("under way", file=sys.stderr, flush=True)
        while not gate.exists():
            look()
            time.sleep(0.01)
    return real(text, **rest)
analysis.check = check
import smem_lsp.server
raise SystemExit(smem_lsp.server.serve(None))
"""
    return (sys.executable, "-c", code, str(gate))


def span(start: tuple[int, int], end: tuple[int, int]) -> Json:
    return {
        "start": {"line": start[0], "character": start[1]},
        "end": {"line": end[0], "character": end[1]},
    }


def replacing(start: tuple[int, int], end: tuple[int, int], text: str) -> Json:
    """One incremental change."""
    return {"range": span(start, end), "text": text}
