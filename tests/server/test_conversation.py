"""The life of a session: handshake, bad requests, ends of all kinds."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from server.client import COMMAND, PATIENCE, ROOT, Client, ResponseError, held_back, serving
from server.samples import MERGEABLE, PULL, PUSH, diagnostic_codes
from server.test_framing import RUBBISH

from smem_lsp.server.framing import frame

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
        (b'{"jsonrpc": "2.0", "id": null, "method": "textDocument/hover"}', None, -32600),
        (b'{"jsonrpc": "2.0", "id": 1.5, "method": "textDocument/hover"}', None, -32600),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "textDocument/hover"}', None, -32600),
        (b'{"jsonrpc": "2.0", "id": 1' + b"0" * 30 + b', "method": "no/such"}', 10**30, -32601),
        (b'{"jsonrpc": "2.0", "id": 1' + b"0" * 9000 + b', "method": "no/such"}', None, -32700),
        (b'{"jsonrpc": "2.0", "method": null}', None, -32600),
        (b'{"jsonrpc": "2.0", "method": ["x"]}', None, -32600),
        (b'{"jsonrpc": "2.0"}', None, -32600),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "shutdown"}]', None, -32600),
        (b"\0" * 100, None, -32700),
        (b'{"jsonrpc": "2.0", "id": "odd", "method": "textDocument/didOpen", "params": {}}', "odd", -32600),
        (b'{"jsonrpc": "2.0", "id": "odd", "method": "$/cancelRequest", "params": {}}', "odd", -32600),
        (b'{"jsonrpc": "2.0", "id": "odd", "method": "exit"}', "odd", -32600),
    ],
)
def test_what_is_no_message_is_an_error(
    bad_requests: Client, body: bytes, identity: str | int | None, code: int
) -> None:
    with bad_requests.arrived:
        bad_requests.received.clear()
    bad_requests.write(body)
    answer = bad_requests.wait_for("answer to nothing")
    assert (answer["id"], answer["error"]["code"]) == (identity, code)
    assert bad_requests.request("smem/explain", {"code": "SMEM301"})["name"] == "mergeable-buffers"


def test_a_request_without_an_id_is_ignored_with_a_word() -> None:
    with serving(PUSH) as client:
        client.open(URI, MERGEABLE)
        for method in ("textDocument/hover", "shutdown", "initialize", "smem/explain"):
            client.notify(method, {"code": "SMEM101"})
            client.logged(f"{method} without an id is ignored")
        assert client.published(URI, 1)
        assert not client.all_of("answer to nothing")


def test_requests_with_one_id_are_answered_one_by_one() -> None:
    with serving(PULL) as client:
        client.open(URI, MERGEABLE)
        body = json.dumps(
            {
                "jsonrpc": "2.0",
                "id": 77,
                "method": "textDocument/diagnostic",
                "params": {"textDocument": {"uri": URI}},
            }
        ).encode()
        for _ in range(5):
            client.write(body)
        client.until(lambda: len(client.all_of("answer to nothing")) == 5)
        client.notify("$/cancelRequest", {"id": 77})


def test_many_cancellations_of_nothing_and_of_something(tmp_path: Path) -> None:
    with serving(PULL, command=held_back(tmp_path / "gate")) as client:
        client.open(URI, MERGEABLE + "// slow\n")
        asked = [
            client.ask("textDocument/diagnostic", {"textDocument": {"uri": URI}}, identity=f"p{n}")
            for n in range(200)
        ]
        for n in range(5000):
            client.notify("$/cancelRequest", {"id": f"p{n % 400}"})
        for answer in asked:
            with pytest.raises(ResponseError) as caught:
                answer.result(PATIENCE)
            assert caught.value.code == -32800
        (tmp_path / "gate").touch()


def test_what_is_no_message_between_messages_is_told_and_skipped() -> None:
    with serving(PUSH) as client:
        assert client.process.stdin is not None
        question = b'{"jsonrpc": "2.0", "id": "%d", "method": "smem/explain", "params": {"code": "SMEM101"}}'
        for number, rubbish in enumerate(RUBBISH.values()):
            client.process.stdin.write(rubbish + frame(question % number))
            client.process.stdin.flush()
        expected = {str(number) for number in range(len(RUBBISH))}
        client.until(lambda: {a["id"] for a in client.all_of("answer to nothing")} >= expected)
        answers = client.all_of("answer to nothing")
        assert all("result" in a for a in answers if a["id"] is not None)
        told = [a for a in answers if a["id"] is None]
        assert len(told) > 10 and all(a["error"]["code"] in (-32700, -32600) for a in told)


def test_a_message_that_never_ends_is_told_and_forgotten() -> None:
    code = (
        "import smem_lsp.server.inbox as inbox\n"
        "inbox.STALLED = 0.5\n"
        "import smem_lsp.server; raise SystemExit(smem_lsp.server.serve(None))"
    )
    with serving(PUSH, command=(sys.executable, "-c", code)) as client:
        assert client.process.stdin is not None
        client.process.stdin.write(b"Content-Length: 50000000\r\n\r\n" + b"x" * 30_000_000)
        client.process.stdin.flush()
        told = client.wait_for("answer to nothing")
        assert told["error"]["message"] == "a message does not end"
        assert client.request("smem/explain", {"code": "SMEM101"})["code"] == "SMEM101"


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


# A server that stands still as soon as its client is known: one thread of it holds the interpreter for ever.
FROZEN = (
    "import re, sys, threading, time\n"
    "import smem_lsp.server.parent as parent\n"
    "real = parent.start_watcher\n"
    "def start(client):\n"
    "    watcher = real(client)\n"
    "    threading.Thread(target=lambda: re.match(r'(a|a)*b', 'a' * 60), daemon=True).start()\n"
    "    time.sleep(0.01)\n"
    "    return watcher\n"
    "parent.start_watcher = start\n"
    "import smem_lsp.server; raise SystemExit(smem_lsp.server.serve(None))"
)


@pytest.mark.skipif(os.name == "nt", reason="stdin ends with the parent there")
@pytest.mark.parametrize("arguments", [("-m", "smem_lsp", "server"), ("-c", FROZEN)], ids=["idle", "frozen"])
def test_the_death_of_the_editor_ends_the_server(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """The editor is killed while another of its children holds the pipe open."""
    script = tmp_path / "editor.py"
    script.write_text(
        "import json, os, subprocess, sys, time\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        f"server = subprocess.Popen([sys.executable, *{arguments!r}], stdin=subprocess.PIPE,\n"
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
        time.sleep(3.0)  # the watches have begun
        assert _runs(server)
        watchers = _children(server)
        editor.kill()
        editor.wait()
        started = time.monotonic()
        while any(map(_runs, (server, *watchers))):
            assert time.monotonic() < started + PATIENCE, "the server outlives its editor"
            time.sleep(0.1)
        print(f"the server has ended {time.monotonic() - started:.1f} s after its editor")
    finally:
        os.kill(other, signal.SIGKILL)
        if _runs(server):
            os.kill(server, signal.SIGKILL)


def _children(process: int) -> list[int]:
    """On Linux; elsewhere none are known."""
    tasks = Path(f"/proc/{process}/task")
    found = [task / "children" for task in tasks.iterdir()] if tasks.exists() else []
    return [int(child) for file in found if file.exists() for child in file.read_text().split()]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are known on Linux")
def test_the_second_watch_ends_with_the_server(client: Client) -> None:
    client.initialize(PUSH)
    client.until(lambda: _children(client.process.pid), "second watch")
    (watcher,) = _children(client.process.pid)
    client.process.kill()
    client.process.wait()
    limit = time.monotonic() + PATIENCE
    while _runs(watcher):
        assert time.monotonic() < limit
        time.sleep(0.05)


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
        assert diagnostic_codes(client.published(URI, 1))
        client.change(URI, 2, {"text": MERGEABLE + "// boom\n"})
        assert client.published(URI, 2) == []
        assert client.hover(URI, 1, 20) is None
        assert client.request("textDocument/codeLens", {"textDocument": {"uri": URI}}) == []
        client.change(URI, 3, {"text": MERGEABLE})
        assert diagnostic_codes(client.published(URI, 3))
        client.logged("RuntimeError: boom")
        assert not client.all_of("window/showMessage")
        assert client.shut_down() == 0
    finally:
        client.kill()
