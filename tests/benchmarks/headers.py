"""What a header costs that several files include: until its kernels have their contexts, and for each key.

A project of eight ``.cu`` files includes one header, each with another macro and another launch. Milliseconds of the
clock, and of the server's processor for the same: from opening the header to its first findings, to a lens with a
context, and to all contexts, the start of the server apart; a key in the header, and the same key in a plain file with
the same kernels, with the ratio of the two; a key in a ``.cu`` until the header's lens shows the new launch. No text
comes twice. The pause that the server makes while somebody types is included.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

from benchmarks.runner.declared import Figure, Told, benchmark
from benchmarks.runner.figures import quantile, spread
from server.client import Client, Json, replacing, serving

CONTEXTS = 8
PUSH: Json = {
    "textDocument": {"publishDiagnostics": {}},
    "workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}},
}
KERNEL = """\
__global__ void blur_{n}(const float* in, float* out, int width) {{
  __shared__ float row[TILE];
  __shared__ float sums[TILE];
  const int t = threadIdx.x;
  row[t] = in[blockIdx.x * TILE + t];
  __syncthreads();
  float sum = row[t];
  for (int half = TILE / 2; half > 0; half /= 2) {{
    if (t < half) row[t] += row[t + half];
    __syncthreads();
  }}
  sums[t] = sum * row[0] + {n}.0f;
  __syncthreads();
  if (t < width) out[blockIdx.x * TILE + t] = sums[TILE - 1 - t];
}}
"""
ANCHOR = "  float sum = row[t];"


@benchmark(unit="ms", better="lower")
def measure(
    *, keys: Annotated[int, "of each kind"] = 100, kernels: Annotated[int, "in the header"] = 4
) -> Iterator[Told]:
    text = "".join(KERNEL.format(n=n) for n in range(kernels))
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        header, plain = root / "blur.cuh", root / "plain.cu"
        header.write_text(text)
        for n in range(CONTEXTS):
            (root / f"run{n}.cu").write_text(runner(kernels, 32 * (n + 1)))
        started = time.perf_counter()
        with serving(PUSH, folders=(root.as_uri(),)) as client:
            yield Figure("start of the server", 1e3 * (time.perf_counter() - started))
            watch = Watch(client)
            client.open(header.as_uri(), text)
            client.published(header.as_uri(), 1)
            yield from watch.tell("first findings of the header")
            client.until(lambda: launches(client, header), "a context")
            yield from watch.tell("a lens with a context")
            client.until(lambda: offered(client, header) == CONTEXTS, "all contexts")
            yield from watch.tell("all contexts")
            own = typed(client, header, text, keys)
            alone = text.replace("TILE", "256")
            client.open(plain.as_uri(), alone)
            client.published(plain.as_uri(), 1)
            other = typed(client, plain, alone, keys)
            yield from told(f"a key in the header, {CONTEXTS} contexts", own)
            yield from told("the same key in a plain file", other)
            late = [quantile([passed for passed, _ in times], 0.99) for times in (own, other)]
            yield Figure("header against plain file, key p99", late[0] / late[1], "")
            renewing = renewed(client, header, root / "run0.cu", keys)
            yield from told("a key in a .cu, to the header's lens", renewing)


def told(what: str, times: Times) -> Iterator[Figure]:
    yield from spread(what, [passed for passed, _ in times])
    yield from spread(f"{what}, processor", [spent for _, spent in times])


def runner(kernels: int, size: int) -> str:
    calls = "".join(f"  blur_{n}<<<8, TILE>>>(in, out, 7);\n" for n in range(kernels))
    return f'#define TILE {size}\n#include "blur.cuh"\nvoid run(float* in, float* out) {{\n{calls}}}\n'


class Watch:
    """Time since it was made: of the clock, and of the server's processor."""

    def __init__(self, client: Client) -> None:
        self._process = client.process.pid
        self._began = time.perf_counter(), self._spent()

    def read(self) -> tuple[float, float]:
        """Milliseconds, and milliseconds of processor time (in steps of 10)."""
        return 1e3 * (time.perf_counter() - self._began[0]), 1e3 * (self._spent() - self._began[1])

    def tell(self, what: str) -> Iterator[Figure]:
        passed, spent = self.read()
        yield Figure(what, passed)
        yield Figure(f"{what}, processor", spent)

    def _spent(self) -> float:
        fields = Path(f"/proc/{self._process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


Times = list[tuple[float, float]]


def typed(client: Client, path: Path, text: str, keys: int) -> Times:
    """Times from a key to the diagnostics of the text that has it."""
    line = text.splitlines().index(ANCHOR)
    at = (line, len(ANCHOR))
    found: Times = []
    for version in range(2, 2 + keys):
        # One key that completes a statement: each number is another text.
        client.change(path.as_uri(), version * 2, replacing(at, at, f" sum += {version}.0f"))
        client.published(path.as_uri(), version * 2)
        time.sleep(0.05)
        end = (line, at[1] + len(f" sum += {version}.0f"))
        watch = Watch(client)
        client.change(path.as_uri(), version * 2 + 1, replacing(end, end, ";"))
        client.published(path.as_uri(), version * 2 + 1)
        found.append(watch.read())
        at = (line, end[1] + 1)
    return found


def renewed(client: Client, header: Path, launcher: Path, keys: int) -> Times:
    """Times from a key that changes the size of a launch to the lens in the header that shows it."""
    text = launcher.read_text()
    client.open(launcher.as_uri(), text)
    client.published(launcher.as_uri(), 1)
    size, found = "32", Times()
    for version in range(2, 2 + min(keys, 100)):
        new = str(32 + version)
        start, end = (0, len("#define TILE ")), (0, len(f"#define TILE {size}"))
        time.sleep(0.05)
        watch = Watch(client)
        client.change(launcher.as_uri(), version, replacing(start, end, new))
        client.until(until_shown(client, header, f"TILE={new} "), f"the lens of {new}")
        found.append(watch.read())
        size = new
    return found


def until_shown(client: Client, header: Path, word: str) -> Callable[[], bool]:
    return lambda: any(word in title for title in titles(client, header))


def lenses(client: Client, path: Path) -> list[Json]:
    return client.request("textDocument/codeLens", {"textDocument": {"uri": path.as_uri()}}) or []


def titles(client: Client, path: Path) -> list[str]:
    return [lens["command"]["title"] for lens in lenses(client, path)]


def offered(client: Client, path: Path) -> int:
    """Contexts that the first lens with a picker names."""
    for lens in lenses(client, path):
        if lens["command"]["command"] == "smem.chooseContext":
            return len(lens["command"]["arguments"][0]["contexts"])
    return 0


def launches(client: Client, path: Path) -> bool:
    return any(".cu:" in title for title in titles(client, path))
