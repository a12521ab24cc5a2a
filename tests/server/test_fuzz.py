"""Ten thousand messages, right, wrong and mangled, and the server still answers as before."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from server.client import PATIENCE, Client
from server.samples import MERGEABLE, PULL, UNUSED, WITH_BARRIER

MESSAGES = 10_000
SEED = 20_261
TIME_FOR_ALL = 10 * PATIENCE  # seconds; it takes half a minute on a machine with nothing else to do
URIS = (
    "file:///a.cu",
    "file:///b.cuh",
    "file:///c.h",
    "untitled:x",
    "file:///nowhere.cu",
    "",
    "\ud83d",
    "file://[",
)
TEXTS = (
    MERGEABLE,
    UNUSED,
    WITH_BARRIER,
    "",
    "\x0c\r\r\n\u2028",
    "😀" * 40,
    "__shared__ " * 50,
    "{" * 200,
    "\ud800x\udfff",
)
REQUESTS = (
    "textDocument/hover",
    "textDocument/codeLens",
    "textDocument/inlayHint",
    "textDocument/codeAction",
    "textDocument/diagnostic",
    "codeAction/resolve",
    "smem/layout",
    "smem/explain",
    "workspace/executeCommand",
    "textDocument/completion",
    "$/unknown",
)
NOTIFICATIONS = (
    "textDocument/didOpen",
    "textDocument/didChange",
    "textDocument/didClose",
    "textDocument/didSave",
    "workspace/didChangeConfiguration",
    "workspace/didChangeWatchedFiles",
    "workspace/didChangeWorkspaceFolders",
    "$/cancelRequest",
    "$/setTrace",
    "initialized",
    "notebookDocument/didOpen",
    "window/workDoneProgress/cancel",
    "made/up",
)
STRANGE: tuple[Any, ...] = (
    None,
    True,
    -1,
    2**31,
    2**70,
    1.5,
    "",
    "x",
    [],
    {},
    [[]],
    {"a": None},
    "\ud83d",
    "\0",
)


class Fuzzer:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.version = 1

    def params(self, method: str) -> Any:
        rng = self.rng
        uri = rng.choice(URIS)
        document: dict[str, Any] = {"uri": uri}
        self.version += rng.choice((1, 1, 1, 0, -3))
        match method:
            case "textDocument/didOpen":
                item = {**document, "languageId": rng.choice(("cuda", "cpp")), "version": self.version}
                return {"textDocument": {**item, "text": rng.choice(TEXTS)}}
            case "textDocument/didChange":
                changes = [self.change() for _ in range(rng.randint(0, 3))]
                return {"textDocument": {**document, "version": self.version}, "contentChanges": changes}
            case "textDocument/inlayHint":
                return {"textDocument": document, "range": self.range()}
            case "textDocument/codeAction":
                context: dict[str, Any] = {"diagnostics": [], "triggerKind": rng.choice((1, 2))}
                if rng.random() < 0.3:
                    context["only"] = [rng.choice(("quickfix", "refactor", "source.fixAll", "", "x"))]
                return {"textDocument": document, "range": self.range(), "context": context}
            case "codeAction/resolve":
                key = rng.choice(
                    ("all", "fix 0 0", "merge 0 0", "ignore 0", "fix 99 99", "merge -1 x", "", "fix ٣ 0")
                )
                return {"title": "t", "data": {"uri": uri, "revision": rng.randint(0, 50), "key": key}}
            case "smem/explain":
                return {"code": rng.choice(("SMEM301", "missing-barrier", "", "\ud83d"))}
            case "workspace/didChangeConfiguration":
                return {
                    "settings": rng.choice((None, {}, {"smem": {"threads": rng.choice((64, -1, "x"))}}, 5))
                }
            case "workspace/didChangeWatchedFiles":
                changed = rng.choice((uri, "file:///smem.toml"))
                return {"changes": [{"uri": changed, "type": rng.randint(1, 3)}]}
            case "workspace/didChangeWorkspaceFolders":
                folder = {"uri": uri, "name": "f"}
                return {"event": {"added": [folder], "removed": [folder] if rng.random() < 0.5 else []}}
            case "$/cancelRequest":
                return {"id": rng.randint(1, MESSAGES)}
            case _:
                return {"textDocument": document, "position": self.position()}

    def position(self) -> dict[str, int]:
        return {
            "line": self.rng.choice((0, 1, 2, 5, 12, 99, 2**31 - 1)),
            "character": self.rng.choice((0, 3, 19, 400)),
        }

    def range(self) -> dict[str, Any]:
        return {"start": self.position(), "end": self.position()}

    def change(self) -> dict[str, Any]:
        text = self.rng.choice((*TEXTS, "x", "\n", "  int y = 1;\n"))
        if self.rng.random() < 0.15 or len(text) > 100:
            return {"text": text}
        return {"range": self.range(), "text": text}

    def message(self, number: int) -> dict[str, Any]:
        if self.rng.random() < 0.55:
            method = self.rng.choice(REQUESTS)
            message: dict[str, Any] = {"jsonrpc": "2.0", "id": number, "method": method}
        elif self.rng.random() < 0.95:
            method = self.rng.choice(NOTIFICATIONS)
            message = {"jsonrpc": "2.0", "method": method}
        else:
            return {"jsonrpc": "2.0", "id": self.rng.choice(STRANGE), "result": self.rng.choice(STRANGE)}
        return {**message, "params": self.params(method)}

    def body(self, number: int) -> bytes:
        """A message, one time in three with something wrong in it."""
        message = self.message(number)
        chance = self.rng.random()
        if chance < 0.25:
            self.spoil(message)
        body = json.dumps(message).encode()
        if chance > 0.95:
            at = self.rng.randrange(len(body))
            body = body[:at] + bytes([self.rng.randrange(256)]) + body[at + self.rng.randint(0, 2) :]
        return body

    def spoil(self, value: Any) -> None:
        """Replace, drop or add something somewhere below ``value``."""
        rng = self.rng
        while isinstance(value, dict | list) and value:
            keys = list(value) if isinstance(value, dict) else list(range(len(value)))
            keys = [key for key in keys if key not in ("method", "jsonrpc")] or keys
            key = rng.choice(keys)
            if isinstance(value[key], dict | list) and value[key] and rng.random() < 0.7:
                value = value[key]
                continue
            if rng.random() < 0.3:
                del value[key]
            else:
                value[key] = rng.choice(STRANGE)
            return


@pytest.mark.slow(seconds=2)
def test_ten_thousand_messages() -> None:
    client = Client()
    try:
        client.initialize(PULL)
        fuzzer = Fuzzer(SEED)
        expected: dict[int, bytes] = {}
        for number in range(1, MESSAGES + 1):
            body = fuzzer.body(number)
            if (identity := answerable(body)) is not None:
                expected[identity] = body
            client.write(body)
        # Whatever came before, this one gets its answer, and so has everything before it.
        client.open("file:///last.cu", UNUSED)
        pull = client.ask("textDocument/diagnostic", {"textDocument": {"uri": "file:///last.cu"}})
        assert [d["code"] for d in pull.result(TIME_FOR_ALL)["items"]] == ["SMEM101"]
        assert client.request("smem/explain", {"code": "SMEM101"})["code"] == "SMEM101"
        # An older document may still wait for its turn: the one touched last is analysed first.
        missing = client.unanswered(expected.keys(), TIME_FOR_ALL)
        assert not missing, f"{len(missing)} requests without an answer, such as {expected[min(missing)]!r}"
        assert "Traceback" not in client.log, client.log[client.log.index("Traceback") - 300 :][:3000]
        shown = client.all_of("window/showMessage")
        assert all(params["type"] == 2 and "smem settings" in params["message"] for params in shown)
        assert client.shut_down() == 0
    finally:
        client.kill()


def answerable(body: bytes) -> int | None:
    """The id of a request that must be answered."""
    try:
        message = json.loads(body)
    except (ValueError, UnicodeDecodeError):
        return None
    if (
        not isinstance(message, dict)
        or not isinstance(message.get("method"), str)
        or message.get("jsonrpc") != "2.0"
    ):
        return None
    identity = message.get("id")
    if (
        message["method"] in ("exit", "shutdown")
        or isinstance(identity, bool)
        or not isinstance(identity, int)
    ):
        return None
    return identity
