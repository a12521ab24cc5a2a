"""Clients over TCP: who may come in, and what none of them can make the server do."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from server.client import PATIENCE, ROOT
from server.samples import MERGEABLE, PUSH
from server.test_turns import TEXT

from smem_lsp.server.framing import LONGEST_GREETING, frame
from smem_lsp.server.idle_worker import IdleWorker
from smem_lsp.server.inbox import Inbox
from smem_lsp.server.session import Session
from smem_lsp.server.tcp import MOST_STRANGERS

URI = "file:///k.cu"
TOKEN = "correct horse battery staple"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
SERVER = (sys.executable, "-m", "smem_lsp", "server")


class Wire:
    """A TCP client."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self.socket = socket.create_connection((host, port), timeout=PATIENCE)
        self.file = self.socket.makefile("rb")

    def send(self, message: Any) -> None:
        body = json.dumps(message).encode()
        self.socket.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def read(self) -> Any:
        length = int(self.file.readline().partition(b":")[2])
        self.file.readline()
        return json.loads(self.file.read(length))

    def initialize(self, **options: Any) -> Any:
        params = {"capabilities": PUSH, "initializationOptions": options}
        self.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
        return self.read()

    def open(self, uri: str, text: str) -> None:
        item = {"uri": uri, "languageId": "cuda", "version": 1, "text": text}
        self.send({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": item}})

    def is_closed(self) -> bool:
        """Nothing more comes; bytes that the server has not read may cut it short."""
        try:
            return self.file.read(1) == b""
        except ConnectionResetError:
            return True


def _obey_interrupts() -> None:
    """A job that a shell has put in the background hands on that SIGINT is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Listening:
    def __init__(self, process: subprocess.Popen[bytes], port: int, said: list[str]) -> None:
        self.process = process
        self.port = port
        self.said = said  # before it listened

    def wire(self) -> Wire:
        return Wire(self.port)


@contextmanager
def listening(
    *flags: str, host: str = "127.0.0.1", command: tuple[str, ...] = SERVER, **environment: str
) -> Iterator[Listening]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [*command, "--tcp", f"{host}:{port}", *flags],
        env={**ENVIRONMENT, **environment},
        stderr=subprocess.PIPE,
        preexec_fn=_obey_interrupts if os.name == "posix" else None,
    )
    said: list[str] = []
    try:
        assert server.stderr is not None
        while "listening" not in (line := server.stderr.readline().decode()):
            assert line, said
            said.append(line)
        yield Listening(server, port, said)
    finally:
        server.kill()
        server.communicate()


def patched(change: str) -> tuple[str, ...]:
    """A server of which something else is made smaller."""
    return (
        sys.executable,
        "-c",
        f"import smem_lsp.server.tcp as tcp\n{change}\n"
        "import sys; from smem_lsp.cli import main; sys.exit(main(['server', *sys.argv[1:]]))",
    )


def refused(*flags: str) -> str:
    """What a server says that does not even start, in one line."""
    done = subprocess.run(
        [*SERVER, *flags], env=ENVIRONMENT, capture_output=True, timeout=PATIENCE, text=True
    )
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and not done.stdout
    return done.stderr


def test_two_clients() -> None:
    with listening() as server:
        one, two = server.wire(), server.wire()
        for name, wire in (("alpha", one), ("beta", two)):
            assert wire.initialize()["id"] == 1
            wire.open(URI, MERGEABLE.replace("spare", name))
        for name, wire in (("alpha", one), ("beta", two)):
            assert f"`{name}`" in str(wire.read())
        one.send({"jsonrpc": "2.0", "method": "exit"})
        assert one.is_closed()
        two.send({"jsonrpc": "2.0", "id": 2, "method": "smem/explain", "params": {"code": "SMEM101"}})
        assert two.read()["result"]["code"] == "SMEM101"


def test_a_client_with_a_large_document_does_not_hold_up_the_others() -> None:
    with listening() as server:
        one, two = server.wire(), server.wire()
        one.initialize()
        two.initialize()
        one.open(URI, MERGEABLE)
        one.read()
        one.open("file:///hostile.cu", TEXT)
        time.sleep(0.7)
        two.open(URI, MERGEABLE)
        assert "`spare`" in str(two.read())
        one.send({"jsonrpc": "2.0", "id": 2, "method": "smem/explain", "params": {"code": "SMEM101"}})
        assert one.read().get("id") == 2  # what the large one has is still to come


def test_a_port_that_is_taken_is_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert "cannot listen" in refused("--tcp", f"127.0.0.1:{taken.getsockname()[1]}")


@pytest.mark.skipif(os.name == "nt", reason="no such signal there")
def test_an_interrupt_ends_it_quietly() -> None:
    with listening() as server:
        server.wire().initialize()
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(PATIENCE) == 130
        assert server.process.stderr is not None and b"Traceback" not in server.process.stderr.read()


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]", "*"])
def test_only_this_machine_unless_allowed(host: str) -> None:
    assert "cannot listen" in refused("--tcp", f"{host}:0")


@pytest.mark.parametrize("host", ["localhost", "127.3.2.1"])
def test_loopback_by_any_name(host: str) -> None:
    with listening(host=host) as server:
        assert server.said == []


def test_flags_that_need_tcp() -> None:
    assert "needs --tcp" in refused("--allow-remote")
    assert "needs --tcp" in refused("--token-file", "x", "--stdio")


def test_remote_clients_need_the_token_that_was_printed() -> None:
    with listening("--allow-remote", host="0.0.0.0") as server:
        (line,) = server.said
        token = line.split()[-1]
        assert len(token) >= 32
        wrong = server.wire()
        assert wrong.initialize(token="0" * 43)["error"]["code"] == -32803
        assert wrong.is_closed()
        assert "result" in server.wire().initialize(token=token)


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\nanything else\n")
    file.chmod(0o600)
    return file


def test_a_token_out_of_a_file(token_file: Path) -> None:
    with listening("--token-file", str(token_file)) as server:
        assert server.said == []
        strange: list[Any] = [None, 5, "", TOKEN[:-1], TOKEN + "x", [TOKEN], {"token": TOKEN}, "\ud83d", "é"]
        times: list[float] = []
        for given in strange[:6]:
            wire = server.wire()
            wire.send({"jsonrpc": "2.0", "id": 0, "method": "smem/explain", "params": {"code": "SMEM101"}})
            assert wire.read()["error"]["code"] == -32002  # not before
            started = time.perf_counter()
            assert wire.initialize(token=given)["error"]["code"] == -32803
            times.append(time.perf_counter() - started)  # at least as long as it is made to wait
            assert wire.is_closed()
        assert times[-1] > 1.0, times  # each more takes longer
        right = server.wire()
        assert "result" in right.initialize(token=TOKEN)
        right.open(URI, MERGEABLE)
        assert "`spare`" in str(right.read())
        for given in strange[6:]:
            assert "error" in server.wire().initialize(token=given)


@pytest.mark.skipif(os.name == "nt", reason="other rights there")
def test_token_files_that_are_none(tmp_path: Path, token_file: Path) -> None:
    def why(file: Path) -> str:
        return refused("--tcp", "127.0.0.1:0", "--token-file", str(file))

    assert "No such file" in why(tmp_path / "none")
    assert "directory" in why(tmp_path)
    os.mkfifo(tmp_path / "pipe", 0o600)
    assert "not a regular file" in why(tmp_path / "pipe")
    token_file.chmod(0o640)
    assert "chmod 600" in why(token_file)
    token_file.chmod(0o600)
    token_file.write_text("short\n")
    assert "16 or more" in why(token_file)
    token_file.write_bytes(b"\xff" * 40)
    assert "ASCII" in why(token_file)


@pytest.mark.parametrize(
    "first",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b'POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nContent-Length: 46\r\n\r\n{"jsonrpc": "2.0"}',
        b"OPTIONS * HTTP/1.1\r\n",
        b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}\n',
        b"\x16\x03\x01\x02\x00",
        b"\r\n",
    ],
)
def test_what_speaks_no_lsp_is_sent_away(first: bytes) -> None:
    with listening() as server:
        wire = server.wire()
        wire.socket.sendall(first)
        try:
            answer = wire.file.read()
        except ConnectionResetError:
            answer = b"HTTP/1.1 400"  # it had not read everything
        assert answer.startswith(b"HTTP/1.1 400") and b"jsonrpc" not in answer
        slow = server.wire()
        slow.socket.sendall(b"Conten")
        slow.socket.sendall(b"X")
        assert slow.file.read(12) == b"HTTP/1.1 400"
        assert "result" in server.wire().initialize()


def test_so_many_clients_and_no_more() -> None:
    with listening() as server:
        first = [server.wire() for _ in range(16)]
        for wire in first:
            assert "result" in wire.initialize()
        refused = server.wire()
        assert refused.initialize()["error"]["message"] == "there are 16 clients already"
        assert refused.is_closed()
        first.pop().socket.shutdown(socket.SHUT_RDWR)
        limit = time.monotonic() + PATIENCE
        while "result" not in server.wire().initialize():
            assert time.monotonic() < limit
            time.sleep(0.05)


def test_silent_connections_keep_nobody_out() -> None:
    """The one that came first leaves where there are too many, and none that has begun."""
    with listening() as server:
        early = server.wire()
        assert "result" in early.initialize()
        silent = [server.wire() for _ in range(MOST_STRANGERS)]
        for wire in silent[:10]:
            wire.socket.sendall(b"Content-Length: 1000000\r\n\r\n{")
        late = server.wire()
        assert "result" in late.initialize()
        assert silent[0].is_closed()
        assert "result" in silent[-1].initialize()
        silent += [server.wire() for _ in range(3 * MOST_STRANGERS)]
        assert silent[1].is_closed()
        for number, wire in enumerate((early, late, server.wire())):
            if number == 2:
                assert "result" in wire.initialize()
            wire.send({"jsonrpc": "2.0", "id": 2, "method": "smem/explain", "params": {"code": "SMEM101"}})
            assert wire.read()["result"]["code"] == "SMEM101"


def test_a_stranger_who_reads_no_answers_is_read_no_more() -> None:
    """What it sends and what it is told waits in our memory, one greeting's worth of each."""

    async def pour() -> tuple[list[bool], int]:
        read: list[bool] = []
        worker = IdleWorker(asyncio.get_running_loop())
        session = Session(lambda body: None, lambda code: None, worker, remote=True)
        inbox = Inbox(session, read.append)
        inbox.hold()  # as when the answers to others of its requests wait to be sent
        message = frame(b'{"jsonrpc": "2.0", "id": 1, "method": "x"}')
        many = message * (LONGEST_GREETING // len(message) // 4)
        fed = 0
        while not read:
            inbox.feed(many)
            fed += len(many)
        return read, fed

    read, fed = asyncio.run(pour())
    assert read == [False] and fed <= 2 * LONGEST_GREETING


def test_who_does_not_begin_is_sent_away() -> None:
    with listening(command=patched("tcp.TIME_TO_BEGIN = 0.5")) as server:
        silent, early = server.wire(), server.wire()
        assert "result" in early.initialize()
        silent.socket.sendall(b"Content-Length: 50\r\n\r\n")
        assert silent.is_closed()
        early.send({"jsonrpc": "2.0", "id": 2, "method": "smem/explain", "params": {"code": "SMEM101"}})
        assert early.read()["result"]["code"] == "SMEM101"


@pytest.mark.skipif(os.name == "nt", reason="a shell script stands for the compiler")
def test_no_program_is_run_at_a_clients_word(tmp_path: Path) -> None:
    """Neither the one that it names, nor one of its workspace, nor the machine's own with its flags."""
    canary = tmp_path / "was run"
    program = tmp_path / "bin" / "nvcc"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho $0 $* >> '{canary}'\nexit 1\n")
    program.chmod(0o755)
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "smem.toml").write_text(f'nvcc = "{program}"\n')
    (folder / "k.cu").write_text(MERGEABLE)
    with listening(PATH=f"{program.parent}:{os.environ['PATH']}", CUDA_HOME=str(tmp_path)) as server:
        wire = server.wire()
        params = {
            "capabilities": PUSH,
            "rootUri": folder.as_uri(),
            "workspaceFolders": [{"uri": folder.as_uri(), "name": "p"}],
            "initializationOptions": {
                "trusted": True,
                "settings": {"nvcc": str(program), "defines": ["X=1"]},
            },
        }
        wire.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
        assert "result" in wire.read()
        settings = {"settings": {"smem": {"nvcc": str(program), "arch": ["sm_90"]}}}
        wire.send({"jsonrpc": "2.0", "method": "workspace/didChangeConfiguration", "params": settings})
        wire.open((folder / "k.cu").as_uri(), MERGEABLE)
        assert "`spare`" in str(wire.read())
        time.sleep(2.5)  # over stdio it would be run after a quiet second
        assert not canary.exists(), canary.read_text()
