"""Whole conversations in one thread, as in a browser's Python, where no other can be started."""

from __future__ import annotations

import asyncio
import itertools
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from server.samples import MERGEABLE, PULL, PUSH, UNUSED, diagnostic_codes, place

from smem_lsp.server.in_process import InProcessServer
from smem_lsp.server.worker import Worker

K = "file:///k.cu"
PATIENCE = 60.0  # seconds; only a server that hangs needs them


@pytest.fixture
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """What CPython says when it was built for WebAssembly."""

    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)


class Page:
    """A client in the same thread: what it sends is handled when it is sent, answers come on the event loop."""

    def __init__(self, *, idle: Callable[[Callable[[], None]], object] | None = None) -> None:
        self.server = InProcessServer(self._take, idle)
        self.received: list[dict[str, Any]] = []
        self._arrived = asyncio.Event()
        self._count = 0

    def _take(self, body: bytes) -> None:
        self.received.append(json.loads(body))
        self._arrived.set()

    def notify(self, method: str, params: object) -> None:
        self.server.receive(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())

    def ask(self, method: str, params: object = None) -> Coroutine[Any, Any, Any]:
        """Send a request now; what is returned waits for its result."""
        self._count += 1
        identity = self._count
        message = {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}
        self.server.receive(json.dumps(message).encode())

        async def result() -> Any:
            answer = await self.wait_for(lambda m: m.get("id") == identity and "method" not in m)
            assert "error" not in answer, answer
            return answer["result"]

        return result()

    async def wait_for(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        async def look() -> dict[str, Any]:
            while True:
                for message in self.received:
                    if wanted(message):
                        return message
                self._arrived.clear()
                await self._arrived.wait()

        return await asyncio.wait_for(look(), PATIENCE)

    async def initialize(self, capabilities: dict[str, Any]) -> None:
        found = await self.ask(
            "initialize", {"processId": None, "rootUri": None, "capabilities": capabilities}
        )
        assert found["serverInfo"]["name"] == "smem-lsp"
        self.notify("initialized", {})

    def open(self, uri: str, text: str) -> None:
        item = {"uri": uri, "languageId": "cuda-cpp", "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})

    def change(self, uri: str, version: int, text: str) -> None:
        document = {"uri": uri, "version": version}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})

    async def published(self, uri: str, version: int | None) -> list[dict[str, Any]]:
        message = await self.wait_for(
            lambda m: (
                m.get("method") == "textDocument/publishDiagnostics"
                and m["params"]["uri"] == uri
                and m["params"].get("version") == version
            )
        )
        found: list[dict[str, Any]] = message["params"]["diagnostics"]
        return found

    def has_published(self, uri: str) -> bool:
        return any(
            m.get("method") == "textDocument/publishDiagnostics" and m["params"]["uri"] == uri
            for m in self.received
        )

    async def leave(self) -> None:
        assert await self.ask("shutdown") is None
        self.notify("exit", None)
        assert self.server.exit_code == 0


def at(uri: str, where: tuple[int, int]) -> dict[str, Any]:
    return {"textDocument": {"uri": uri}, "position": {"line": where[0], "character": where[1]}}


@pytest.mark.usefixtures("one_thread")
def test_a_whole_conversation() -> None:
    async def story() -> None:
        page = Page()
        await page.initialize(PUSH)
        page.open(K, UNUSED)
        assert diagnostic_codes(await page.published(K, 1)) == ["SMEM101"]
        page.change(K, 2, MERGEABLE)
        assert "SMEM301" in diagnostic_codes(await page.published(K, 2))
        where = place(MERGEABLE, "red[256]")
        hover = await page.ask("textDocument/hover", at(K, where))
        assert "red" in hover["contents"]["value"]
        (lens,) = await page.ask("textDocument/codeLens", {"textDocument": {"uri": K}})
        assert "KiB" in lens["command"]["title"]
        spot = {"line": where[0], "character": where[1]}
        actions = await page.ask(
            "textDocument/codeAction",
            {
                "textDocument": {"uri": K},
                "range": {"start": spot, "end": spot},
                "context": {"diagnostics": []},
            },
        )
        merge = next(action for action in actions if action["title"].startswith("Merge"))
        assert (await page.ask("codeAction/resolve", merge))["edit"]["documentChanges"]
        drawn = await page.ask("smem/layout", {**at(K, where), "format": "svg"})
        assert drawn["svg"].startswith("<svg")
        page.notify("textDocument/didClose", {"textDocument": {"uri": K}})
        assert await page.published(K, None) == []
        await page.leave()

    asyncio.run(story())


@pytest.mark.usefixtures("one_thread")
def test_pulled_diagnostics_follow_the_keys() -> None:
    async def story() -> None:
        page = Page()
        await page.initialize(PULL)
        page.open(K, UNUSED)
        first = page.ask("textDocument/diagnostic", {"textDocument": {"uri": K}})
        assert diagnostic_codes((await first)["items"]) == ["SMEM101"]
        for version in range(2, 30):
            page.change(K, version, UNUSED.replace("scratch", f"scratch{version}"))
        found = await page.ask("textDocument/diagnostic", {"textDocument": {"uri": K}})
        assert "scratch29" in str(found["items"])
        await page.leave()

    asyncio.run(story())


@pytest.mark.usefixtures("one_thread")
def test_the_host_says_when_it_is_idle() -> None:
    """As with requestIdleCallback: nothing is analysed before, and one job at a time then."""
    steps: list[Callable[[], None]] = []

    async def story() -> None:
        page = Page(idle=steps.append)
        await page.initialize(PUSH)
        page.open(K, UNUSED)
        await asyncio.sleep(0.05)
        assert not [m for m in page.received if m.get("method") == "textDocument/publishDiagnostics"]
        while steps:
            (step,) = steps
            steps.clear()
            step()
            await asyncio.sleep(0)
        assert diagnostic_codes(await page.published(K, 1)) == ["SMEM101"]
        await page.leave()

    asyncio.run(story())


@pytest.mark.usefixtures("one_thread")
def test_others_are_answered_while_a_long_document_is_analysed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two slices of it messages are read, and no kernel is analysed twice for ever. Each look at the clock
    takes 20 ms, so a slice ends after five looks, whatever else the machine does and however seldom it looks."""
    looks = itertools.count()
    monkeypatch.setattr(Worker, "clock", staticmethod(lambda: 0.02 * next(looks)))
    long = "".join(
        MERGEABLE.replace("sum(", f"sum{n}(").replace("[256]", f"[{256 + n}]").replace("sum<<<", f"sum{n}<<<")
        for n in range(150)
    )

    async def story() -> None:
        page = Page()
        await page.initialize(PUSH)
        page.open(K, UNUSED)
        await page.published(K, 1)  # it has warmed up
        page.open("file:///long.cu", long)
        await asyncio.sleep(0)
        page.change(K, 2, UNUSED.replace("scratch", "scratch2"))
        assert "scratch2" in str(await page.published(K, 2))
        assert not page.has_published("file:///long.cu")
        assert len(await page.published("file:///long.cu", 1)) >= 150
        await page.leave()

    asyncio.run(story())


def test_a_python_that_counts_no_time_of_threads() -> None:
    """As one built for WebAssembly: ``time`` has no ``thread_time``."""
    code = "import time; del time.thread_time; import smem_lsp; print(len(smem_lsp.check(input()).kernels))"
    found = subprocess.run(
        [sys.executable, "-c", code],
        input=" ".join(UNUSED.split()),
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout == "1\n"


@pytest.mark.usefixtures("one_thread")
def test_a_client_that_leaves_in_the_middle() -> None:
    async def story() -> None:
        page = Page()
        await page.initialize(PUSH)
        page.open(K, MERGEABLE)
        page.server.close()
        assert page.server.exit_code == 1
        before = len(page.received)
        await asyncio.sleep(0.2)
        assert len(page.received) == before

    asyncio.run(story())
