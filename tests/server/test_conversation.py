"""The life of a session: handshake, bad requests, ends of all kinds."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from server.client import COMMAND, PATIENCE, ROOT, Client, ResponseError, held_back, serving
from server.samples import MERGEABLE, PULL, PUSH, codes

URI = "file:///k.cu"


@pytest.fixture
def client() -> Iterator[Client]:
    """A server that has heard nothing yet."""
    client = Client()
    yield client
    client.kill()


def refused(client: Client, method: str, params: Any = None) -> int:
    with pytest.raises(ResponseError) as caught:
        client.request(method, params)
    return caught.value.code


def test_what_is_offered(client: Client) -> None:
    result = client.initialize({})
    assert result["serverInfo"]["name"] == "smem-lsp"
    offered = result["capabilities"]
    assert offered["positionEncoding"] == "utf-16"
    assert offered["textDocumentSync"] == {"openClose": True, "change": 2, "save": {"includeText": False}}
    assert "diagnosticProvider" not in offered and "codeActionProvider" not in offered


def test_nothing_is_offered_that_clangd_does_better(client: Client) -> None:
    offered = client.initialize(PULL)["capabilities"]
    others = (
        "semanticTokensProvider",
        "foldingRangeProvider",
        "documentSymbolProvider",
        "completionProvider",
    )
    assert not [name for name in others if name in offered]
    assert offered["diagnosticProvider"]["workspaceDiagnostics"] is False


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (["utf-8", "utf-16"], "utf-8"),
        (["utf-16", "utf-8"], "utf-16"),
        (["utf-7", "utf-32"], "utf-32"),
        ([], "utf-16"),
        (5, "utf-16"),
    ],
)
def test_the_first_known_encoding_of_the_client(client: Client, offered: object, chosen: str) -> None:
    result = client.initialize({"general": {"positionEncodings": offered}})
    assert result["capabilities"]["positionEncoding"] == chosen


def test_requests_before_the_handshake_are_refused(client: Client) -> None:
    assert refused(client, "textDocument/hover", client.at(URI, 0, 0)) == -32002
    assert refused(client, "shutdown") == -32002
    assert refused(client, "initialize") == -32602
    assert refused(client, "initialize", {"capabilities": None}) == -32602
    client.notify("textDocument/didOpen", {"nonsense": True})  # dropped
    client.initialize({})
    assert client.shut_down() == 0


def test_requests_out_of_order() -> None:
    with serving() as client:
        assert refused(client, "initialize", {"capabilities": {}}) == -32600
        client.request("shutdown")
        assert refused(client, "textDocument/hover", client.at(URI, 0, 0)) == -32600
        assert refused(client, "shutdown") == -32600
        client.notify("exit")
        assert client.process.wait(PATIENCE) == 0
        client.request = lambda *_: None  # type: ignore[method-assign]  # it has shut down already
        client.notify = lambda *_: None  # type: ignore[method-assign]


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("no/such", None, -32601),
        ("$/no/such", {}, -32601),
        ("textDocument/rename", {}, -32601),
        ("textDocument/hover", None, -32602),
        ("textDocument/hover", {}, -32602),
        ("textDocument/hover", [], -32602),
        (
            "textDocument/hover",
            {"textDocument": {"uri": URI}, "position": {"line": "x", "character": 0}},
            -32602,
        ),
        (
            "textDocument/hover",
            {"textDocument": {"uri": URI}, "position": {"line": -1, "character": 0}},
            -32602,
        ),
        ("textDocument/codeAction", {"textDocument": {"uri": URI}}, -32602),
        ("textDocument/diagnostic", {"textDocument": 5}, -32602),
        ("codeAction/resolve", {"title": "x"}, -32602),
        ("codeAction/resolve", {"title": "x", "data": {"uri": URI, "revision": "1", "key": "all"}}, -32602),
        ("smem/layout", {}, -32602),
        ("smem/explain", {"code": "SMEM999"}, -32602),
        ("smem/explain", {"code": 5}, -32602),
    ],
)
def test_a_bad_request_is_answered(bad_requests: Client, method: str, params: Any, code: int) -> None:
    assert refused(bad_requests, method, params) == code
    assert not bad_requests.all_of("window/showMessage")


@pytest.fixture(scope="module")
def bad_requests() -> Iterator[Client]:
    """One server for all of them: it must not mind."""
    with serving(PUSH) as client:
        yield client


@pytest.mark.parametrize(
    ("body", "identity", "code"),
    [
        (b"{", None, -32700),
        (b"\xff\xfe", None, -32700),
        (b"[" * 100_000, None, -32700),
        (b"[]", None, -32600),
        (b"5", None, -32600),
        (b"null", None, -32600),
        (b'{"id": "odd", "method": "x"}', "odd", -32600),
        (b'{"jsonrpc": "1.0", "id": "odd", "method": "x"}', "odd", -32600),
        (b'{"jsonrpc": "2.0", "id": "odd", "method": 5}', "odd", -32600),
        (b'{"jsonrpc": "2.0", "id": [1], "method": "textDocument/hover"}', None, -32600),
        (b'{"jsonrpc": "2.0", "id": true, "method": "textDocument/hover"}', None, -32600),
    ],
)
def test_what_is_no_message_is_an_error(
    bad_requests: Client, body: bytes, identity: str | None, code: int
) -> None:
    with bad_requests.arrived:
        bad_requests.received.clear()
    bad_requests.write(body)
    answer = bad_requests.wait_for("answer to nothing")
    assert (answer["id"], answer["error"]["code"]) == (identity, code)
    assert bad_requests.request("smem/explain", {"code": "SMEM301"})["name"] == "mergeable-buffers"


def test_responses_to_nothing_change_nothing() -> None:
    with serving(PUSH) as client:
        client.send({"jsonrpc": "2.0", "id": 12345, "result": None})
        client.send({"jsonrpc": "2.0", "id": "x", "error": {"code": 1, "message": "m"}})
        client.send({"jsonrpc": "2.0", "id": None, "error": 5})
        client.open(URI, MERGEABLE)
        assert client.published(URI, 1)


def test_a_cancelled_request_is_answered(tmp_path: Path) -> None:
    with serving(PULL, command=held_back(tmp_path / "gate")) as client:
        client.open(URI, MERGEABLE + "// slow\n")
        answer = client.ask("textDocument/diagnostic", {"textDocument": {"uri": URI}}, identity="pull")
        client.notify("$/cancelRequest", {"id": "pull"})
        client.notify("$/cancelRequest", {"id": "never heard of"})
        with pytest.raises(ResponseError) as caught:
            answer.result(PATIENCE)
        assert caught.value.code == -32800
        (tmp_path / "gate").touch()


def test_exit_without_shutdown_is_1(client: Client) -> None:
    client.initialize({})
    client.notify("exit")
    assert client.process.wait(PATIENCE) == 1


def test_exit_before_anything_is_1(client: Client) -> None:
    client.notify("exit")
    assert client.process.wait(PATIENCE) == 1


@pytest.mark.parametrize("shut_down", [False, True])
def test_the_end_of_stdin_ends_the_server(tmp_path: Path, shut_down: bool) -> None:
    """Also in the middle of an analysis, which would go on for ever."""
    client = Client(held_back(tmp_path / "gate"))
    try:
        client.initialize(PUSH)
        client.open(URI, MERGEABLE + "// slow\n")
        client.logged("under way")
        if shut_down:
            client.request("shutdown")
        assert client.process.stdin is not None
        client.process.stdin.close()
        assert client.process.wait(PATIENCE) == (0 if shut_down else 1)
    finally:
        client.kill()


def test_a_client_that_reads_no_more_ends_the_server() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    server = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    assert server.stdin is not None and server.stdout is not None
    server.stdout.close()
    body = json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}
    ).encode()
    server.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    server.stdin.flush()
    assert server.wait(PATIENCE) == 1


@pytest.mark.skipif(os.name == "nt", reason="stdin ends with the parent there")
def test_the_death_of_the_editor_ends_the_server(tmp_path: Path) -> None:
    """The editor is killed while another of its children holds the pipe open."""
    script = tmp_path / "editor.py"
    script.write_text(
        "import json, os, subprocess, sys, time\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        "server = subprocess.Popen([sys.executable, '-m', 'smem_lsp', 'server'], stdin=subprocess.PIPE,\n"
        "                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)\n"
        "other = subprocess.Popen(['sleep', '900'], pass_fds=[server.stdin.fileno()])\n"
        "body = json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': 'initialize',\n"
        "                   'params': {'processId': os.getpid(), 'capabilities': {}}}).encode()\n"
        "server.stdin.write(b'Content-Length: %d\\r\\n\\r\\n%b' % (len(body), body))\n"
        "server.stdin.flush()\n"
        "server.stdout.readline()\n"
        "print(server.pid, other.pid, flush=True)\n"
        "time.sleep(900)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    editor = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, env=environment)
    assert editor.stdout is not None
    server, other = map(int, editor.stdout.readline().split())
    try:
        editor.kill()
        editor.wait()
        limit = time.monotonic() + PATIENCE
        while _runs(server):
            assert time.monotonic() < limit, "the server outlives its editor"
            time.sleep(0.1)
    finally:
        os.kill(other, signal.SIGKILL)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{process}/stat")
    return not (stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z")


def test_two_servers_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two windows: both start with an empty cache folder and fill it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with serving(PUSH) as one, serving(PUSH) as two:
        one.open(URI, MERGEABLE)
        two.open(URI, MERGEABLE.replace("spare", "extra"))
        assert "`spare`" in str(one.published(URI, 1)) and "`extra`" in str(two.published(URI, 1))


def test_nothing_else_reaches_stdout(client: Client) -> None:
    """A print anywhere would end the conversation."""
    client.initialize(PUSH)
    client.open(URI, MERGEABLE)
    client.published(URI, 1)
    assert client.shut_down() == 0


def test_two_clients_over_tcp() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "smem_lsp", "server", "--tcp", f"127.0.0.1:{port}"]
    server = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE)
    try:
        assert server.stderr is not None and b"listening" in server.stderr.readline()
        one, two = Wire(port), Wire(port)
        for name, wire in (("alpha", one), ("beta", two)):
            wire.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": PUSH}})
            assert wire.read()["id"] == 1
            item = {"uri": URI, "languageId": "cuda", "version": 1, "text": MERGEABLE.replace("spare", name)}
            wire.send({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": item}})
        for name, wire in (("alpha", one), ("beta", two)):
            assert f"`{name}`" in str(wire.read())
        one.send({"jsonrpc": "2.0", "method": "exit"})
        assert one.file.read(1) == b""
        two.send({"jsonrpc": "2.0", "id": 2, "method": "smem/explain", "params": {"code": "SMEM101"}})
        assert two.read()["result"]["code"] == "SMEM101"
    finally:
        server.terminate()
        server.wait()


class Wire:
    """A TCP client."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self.file = self.socket.makefile("rb")

    def send(self, message: Any) -> None:
        body = json.dumps(message).encode()
        self.socket.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def read(self) -> Any:
        length = int(self.file.readline().partition(b":")[2])
        self.file.readline()
        return json.loads(self.file.read(length))


def test_a_port_that_is_taken_is_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-m", "smem_lsp", "server", "--tcp", address]
        done = subprocess.run(command, env=environment, capture_output=True, timeout=PATIENCE, text=True)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1 and "cannot listen" in done.stderr


def test_an_analysis_that_fails_is_an_empty_list_and_a_line_in_the_log() -> None:
    command = (
        sys.executable,
        "-c",
        "import smem_lsp.engine.check as c, smem_lsp.server.analysis as a\n"
        "real = a.check\n"
        "def check(text, **rest):\n"
        "    if 'boom' in text: raise RuntimeError('boom')\n"
        "    return real(text, **rest)\n"
        "a.check = check\n"
        "import smem_lsp.server; raise SystemExit(smem_lsp.server.serve(None))",
    )
    client = Client(command)
    try:
        client.initialize(PUSH)
        client.open(URI, MERGEABLE)
        assert codes(client.published(URI, 1))
        client.change(URI, 2, {"text": MERGEABLE + "// boom\n"})
        assert client.published(URI, 2) == []
        assert client.hover(URI, 1, 20) is None
        assert client.request("textDocument/codeLens", {"textDocument": {"uri": URI}}) == []
        client.change(URI, 3, {"text": MERGEABLE})
        assert codes(client.published(URI, 3))
        client.logged("RuntimeError: boom")
        assert not client.all_of("window/showMessage")
        assert client.shut_down() == 0
    finally:
        client.kill()
