"""How long a key takes to reach the screen: didChange to diagnostics, hover while analysing, start of the server.

Run it by hand: ``python tests/benchmarks/keystroke.py``. It prints milliseconds, the median and the 99th percentile,
with and without the pause that the server makes while somebody types, and the load of the machine.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

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

REDUCTION = """\
__global__ void reduce_{n}(const float* __restrict__ in, float* __restrict__ out, int count) {{
  __shared__ float stage[{a}];
  __shared__ float sums[{b}];
  const int t = threadIdx.x;
  const int lane = t % 32;
  float sum = 0.0f;
  for (int i = blockIdx.x * {a} + t; i < count; i += gridDim.x * {a}) {{
    sum += in[i];
  }}
  stage[t] = sum;
  __syncthreads();
  for (int half = {a} / 2; half > 0; half /= 2) {{
    if (t < half) stage[t] += stage[t + half];
    __syncthreads();
  }}
  sum = stage[0];
  __syncthreads();
  if (t < {b}) sums[t] = sum * {n}.0f;
  __syncthreads();
  out[blockIdx.x * {b} + lane] = sums[lane];
}}
"""
TILED = """\
__global__ void __launch_bounds__({a}) tiled_{n}(const float* A, const float* B, float* C, int n, int k) {{
  __shared__ float As[{b}][{b}];
  __shared__ float Bs[{b}][{b}];
  __shared__ float Cs[{b}][{b}];
  const int col = threadIdx.x % {b};
  const int row = threadIdx.x / {b};
  float sum = 0.0f;
  for (int step = 0; step < k; step += {b}) {{
    As[row][col] = A[(blockIdx.y * {b} + row) * k + step + col];
    Bs[row][col] = B[(step + row) * n + blockIdx.x * {b} + col];
    __syncthreads();
#pragma unroll
    for (int p = 0; p < {b}; ++p) {{
      sum += As[row][p] * Bs[p][col];
    }}
    __syncthreads();
  }}
  Cs[row][col] = sum;
  __syncthreads();
  C[(blockIdx.y * {b} + row) * n + blockIdx.x * {b} + col] = Cs[col][row];
}}
"""
STENCIL = """\
__global__ void stencil_{n}(const float* in, float* out, int width) {{
  __shared__ float line[{a} + 2];
  __shared__ int marks[{a}];
  const int t = threadIdx.x;
  const int x = blockIdx.x * {a} + t;
  line[t + 1] = x < width ? in[x] : 0.0f;
  if (t == 0) {{
    line[0] = x > 0 ? in[x - 1] : 0.0f;
    line[{a} + 1] = x + {a} < width ? in[x + {a}] : 0.0f;
  }}
  __syncthreads();
  float value = line[t] + line[t + 1] * 2.0f + line[t + 2];
  __syncthreads();
  marks[t] = value > {n}.5f;
  __syncthreads();
  int found = 0;
  for (int i = 0; i < 4; ++i) {{
    found += marks[(t + i * 31) % {a}];
  }}
  if (x < width) {{
    out[x] = value * found;
  }}
}}
"""


def kernels(lines: int, seed: int = 1) -> str:
    """A file of about ``lines`` lines: kernels of three kinds with their launches, all different."""
    random_ = random.Random(seed)
    parts = ["#include <cuda_runtime.h>\n"]
    for n in itertools.count():
        if sum(part.count("\n") for part in parts) >= lines:
            return "\n".join(parts)
        template, name = random_.choice(((REDUCTION, "reduce"), (TILED, "tiled"), (STENCIL, "stencil")))
        a = 256 if template is TILED else random_.choice((128, 256, 512))
        parts.append(template.format(n=n, a=a, b=16 if template is TILED else 32))
        arguments = (
            "const float* a, const float* b, float* c, int n"
            if name == "tiled"
            else "const float* a, float* c, int n"
        )
        given = "a, b, c, n, n" if name == "tiled" else "a, c, n"
        parts.append(f"void run_{name}_{n}({arguments}) {{ {name}_{n}<<<n / {a}, {a}>>>({given}); }}\n")
    raise AssertionError


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


def timed(work: Callable[[], object]) -> float:
    """Milliseconds."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1e3


def keystrokes(text: str, pull: bool, command: tuple[str, ...], keys: int, rhythm: float) -> list[float]:
    client = Client(command)
    client.initialize(PULL if pull else PUSH)
    editor = Editor(client, text, pull)
    times: list[float] = []
    for _ in range(keys):

        def key() -> None:
            editor.press()
            editor.wait()

        times.append(timed(key))
        time.sleep(rhythm)
    client.shut_down()
    return times[5:]


def hovers(text: str, keys: int) -> list[float]:
    """A hover at some moment of each analysis; analyses follow each other without a pause."""
    client = Client(NO_PAUSE)
    client.initialize(PUSH)
    editor = Editor(client, text, pull=False)
    usual = statistics.median(timed(lambda: (editor.press(), editor.wait())) for _ in range(10)) / 1e3
    random_ = random.Random(2)
    word = next(n for n, line in enumerate(text.split("\n")) if "__shared__" in line)
    times: list[float] = []
    for _ in range(keys):
        editor.press()
        time.sleep(random_.random() * usual * 0.8)
        times.append(timed(lambda: client.hover(URI, word, 20)))
        editor.wait()
    client.shut_down()
    return times


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


def show(what: str, times: list[float]) -> None:
    ordered = sorted(times)
    p99 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    print(
        f"{what:<44} p50 {statistics.median(ordered):7.1f}  p99 {p99:7.1f} ms  (n {len(ordered)}, load {load:.1f})"
    )
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", default="200,1000,5000")
    parser.add_argument("--keys", type=int, default=150)
    parser.add_argument("--rhythm", type=float, default=0.05, help="seconds between two keys")
    flags = parser.parse_args()
    show("initialize", starts(8))
    for lines in map(int, flags.lines.split(",")):
        text = kernels(lines)
        label = f"{text.count(chr(10)):,} lines"
        for pull in (False, True):
            way = "pull" if pull else "push"
            show(f"{label}, {way}", keystrokes(text, pull, COMMAND, flags.keys, flags.rhythm))
            show(f"{label}, {way}, no pause", keystrokes(text, pull, NO_PAUSE, flags.keys, flags.rhythm))
        show(f"{label}, hover while analysing", hovers(text, flags.keys))


if __name__ == "__main__":
    main()
