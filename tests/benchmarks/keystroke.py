"""How long a key takes to reach the screen: from didChange to diagnostics, and how long the server takes to start.

Milliseconds of the clock, with and without the pause that the server makes while somebody types. What is asked for
meanwhile is measured by asked.py.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Iterator
from typing import Annotated

from benchmarks.headers import KERNEL
from benchmarks.runner.declared import Told, benchmark
from benchmarks.runner.figures import clock_ms, spread
from server.client import COMMAND, Client, Json, replacing

NO_PAUSE = (
    sys.executable,
    "-c",
    "import smem_lsp.server.scheduler as s; s.SHORTEST_PAUSE = s.LONGEST_PAUSE = 0.0\n"
    "import smem_lsp.server; raise SystemExit(smem_lsp.server.serve(None))",
)
PULL: Json = {"textDocument": {"diagnostic": {}, "hover": {"contentFormat": ["markdown"]}}}
PUSH: Json = {"textDocument": {"publishDiagnostics": {}, "hover": {"contentFormat": ["markdown"]}}}
URI = "file:///bench/kernels.cu"


def kernels(lines: int) -> str:
    """A file of about so many lines: kernels with their launches, all different."""
    launch = "void run_{n}(float* in, float* out) {{ blur_{n}<<<8, TILE>>>(in, out, 7); }}\n"
    one = f"{KERNEL}{launch}"
    parts = (one.format(n=n) for n in range(round(lines / one.count("\n"))))
    return "#include <cuda_runtime.h>\n#define TILE 256\n" + "".join(parts)


class Editor:
    """Types in the middle of the file, a statement at a time, and takes it out again."""

    def __init__(self, client: Client, text: str, pull: bool) -> None:
        lines = text.split("\n")
        middle = next(n for n in range(len(lines) // 2, len(lines)) if lines[n].startswith("  __syncthreads"))
        self.client, self.line, self.pull = client, middle, pull
        self.version = 1
        self._keys = self._typing()
        client.open(URI, text)
        self.wait()

    def press(self) -> None:
        self.version += 1
        self.client.change(URI, self.version, next(self._keys))

    def wait(self) -> None:
        if self.pull:
            self.client.pulled(URI)
        else:
            self.client.published(URI, self.version)
            with self.client.arrived:
                self.client.received.clear()

    def _typing(self) -> Iterator[Json]:
        for number in itertools.count():
            word = f"  const float extra{number} = {number}.0f * t;"
            for column, key in enumerate(word):
                yield replacing((self.line, column), (self.line, column), key)
            yield replacing((self.line, 0), (self.line, len(word)), "")


def keystrokes(text: str, pull: bool, command: tuple[str, ...], keys: int, rhythm: float) -> list[float]:
    client = Client(command)
    client.initialize(PULL if pull else PUSH)
    editor = Editor(client, text, pull)
    times: list[float] = []
    for _ in range(keys):

        def key() -> None:
            editor.press()
            editor.wait()

        times.append(clock_ms(key))
        time.sleep(rhythm)
    client.shut_down()
    return times[5:]


def starts(count: int) -> list[float]:
    """From the start of the process to the answer of ``initialize``."""
    times: list[float] = []
    for _ in range(count):
        started = time.perf_counter()
        client = Client()
        client.initialize(PUSH)
        times.append((time.perf_counter() - started) * 1e3)
        client.kill()
    return times


@benchmark(unit="ms", better="lower")
def measure(
    *,
    lines: tuple[int, ...] = (200, 1000, 5000),
    keys: int = 150,
    rhythm: Annotated[float, "seconds between two keys"] = 0.05,
) -> Iterator[Told]:
    yield from spread("initialize", starts(8))
    for count in lines:
        text = kernels(count)
        for way in ("push", "pull"):
            for pause, command in (("", COMMAND), (", no pause", NO_PAUSE)):
                times = keystrokes(text, way == "pull", command, keys, rhythm)
                yield from spread(f"{count:,} lines, {way}{pause}", times)
