"""Server processes that have imported the product before they start: each is forked from one that did it once.

The imports are nearly all that a start takes (0.9 s), and a run of the tests starts over two hundred servers. Whatever
a process is told at its start it gets anew: environment, current folder, pipes, signals. Starts from nothing are tested
by those who run the command itself: tests/cli, the editors, and the conversations that pass a command.
"""

from __future__ import annotations

import functools
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

ROOT = Path(__file__).parents[2]
CAN_FORK = sys.platform == "linux"

_PARENT = """\
import gc, importlib, json, os, pkgutil, signal, socket, sys
from smem_lsp.isolation import isolate
import smem_lsp.server
smem_lsp.server._import_asyncio()
import smem_lsp.cli
for module in pkgutil.walk_packages(smem_lsp.__path__, "smem_lsp."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
gc.collect()
gc.freeze()
signals = {each: signal.getsignal(each) for each in (signal.SIGCHLD, signal.SIGINT)}
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those who wait

def serve(told, pipes):
    for number, pipe in enumerate(pipes):
        os.dup2(pipe, number)
        os.close(pipe)
    os.environ.clear()
    os.environ.update(told["environment"])
    os.chdir(told["folder"])
    sys.argv[:] = ["smem_lsp", "server"]
    isolate()
    sys.exit(smem_lsp.cli.main())

asked = socket.socket(fileno=int(sys.argv[1]))
while True:
    size, fds, _, _ = socket.recv_fds(asked, 8, 4)
    if not size:
        break
    told = b""
    while len(told) < int(size):
        told += asked.recv(int(size) - len(told))
    *pipes, state = fds
    if os.fork() == 0:  # waits for the server, and says how it ended
        for each, handler in signals.items():
            signal.signal(each, handler)
        asked.close()
        server = os.fork()
        if server == 0:
            os.close(state)
            serve(json.loads(told), pipes)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for pipe in pipes:
            os.close(pipe)
        os.write(state, b"%d\\n" % server)
        os.write(state, b"%d\\n" % os.waitstatus_to_exitcode(os.waitpid(server, 0)[1]))
        os._exit(0)
    for fd in fds:
        os.close(fd)
"""


class ForkedProcess:
    """A server process, by the names that ``subprocess.Popen`` has."""

    def __init__(self, environment: Mapping[str, str], folder: Path) -> None:
        mine: list[BinaryIO] = []
        theirs: list[int] = []
        for number in range(3):
            reading, writing = os.pipe()
            own, other = (writing, reading) if number == 0 else (reading, writing)
            mine.append(os.fdopen(own, "wb" if number == 0 else "rb"))
            theirs.append(other)
        state, ending = os.pipe()
        told = json.dumps({"environment": dict(environment), "folder": str(folder)}).encode()
        parent = _parent()
        socket.send_fds(parent, [b"%8d" % len(told)], [*theirs, ending])
        parent.sendall(told)
        for fd in (*theirs, ending):
            os.close(fd)
        self.stdin: BinaryIO | None = mine[0]
        self.stdout: BinaryIO | None = mine[1]
        self.stderr: BinaryIO | None = mine[2]
        self.returncode: int | None = None
        self._state = os.fdopen(state, "rb", buffering=0)
        self.pid = int(self._state.readline())

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._state], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._state], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("smem-lsp server", timeout or 0)
            self.returncode = int(self._state.readline())
            self._state.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


@functools.cache
def _parent() -> socket.socket:
    """Where the process that is forked is asked for more; it ends with this one."""
    mine, other = socket.socketpair()
    subprocess.Popen(
        [sys.executable, "-c", _PARENT, str(other.fileno())],
        pass_fds=[other.fileno()],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
    )
    other.close()
    return mine
