"""Memory of the server while 30 real files are edited, and while thousands are opened and closed.

The files are CUDA sources of 200 to 5,000 lines with shared memory, spread over the folders (the cache of the pinned
corpora by default), all of them open. Somebody types in one for a while, then in the next: statements, comments and
names that never came before, each taken out again, so that no file grows. Every key waits for its findings. Told are
the physical memory of the server in MB (1,000,000 bytes) and the milliseconds of a key after each twentieth part, and
at last what is left once nobody types.
"""

from __future__ import annotations

import itertools
import random
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from benchmarks.keystroke import NO_PAUSE
from benchmarks.runner.declared import Figure, Missing, Told, benchmark
from benchmarks.runner.figures import clock_ms, spread
from benchmarks.runner.programs import cuda_files, read
from fetch import cache_folder
from server.client import Client, Json, replacing

LINES = (200, 5_000)
IDLE = 12.0  # seconds without a key after which the server has collected all garbage
STAYS = 20  # keys in one file, about


def megabytes(process: int, name: str = "VmRSS") -> float:
    with open(f"/proc/{process}/status") as status:  # noqa: PTH123  (not a file of ours)
        return next(int(line.split()[1]) for line in status if line.startswith(name)) * 1024 / 1e6


def candidates(folders: Sequence[Path]) -> list[tuple[int, Path]]:
    """(lines, path) of the files that are suited, the shortest first."""
    texts = ((path, read(path)) for path in cuda_files(folders, "__shared__"))
    found = ((text.count("\n"), path) for path, text in texts if place(text) is not None)
    return sorted((lines, path) for lines, path in found if LINES[0] <= lines <= LINES[1])


def spread_over(found: list[tuple[int, Path]], count: int) -> list[tuple[int, Path]]:
    """So many of them, from the shortest to the longest."""
    if len(found) <= count:
        return found
    return [found[round(n * (len(found) - 1) / (count - 1))] for n in range(count)]


def place(text: str) -> int | None:
    """A line in the middle of the barriers of the file: a statement may stand in front of it."""
    barriers = [n for n, line in enumerate(text.split("\n")) if re.match(r"[ \t]*__syncthreads\(\);", line)]
    return barriers[len(barriers) // 2] if barriers else None


class Typist:
    """Types in one document. No text comes twice."""

    def __init__(self, client: Client, uri: str, text: str, number: Iterator[int]) -> None:
        line = place(text)
        assert line is not None
        self.client, self.uri, self.line, self.version = client, uri, line, 1
        self._number = number
        self._keys = self._typing()

    def type(self) -> None:
        self.version += 1
        self.client.change(self.uri, self.version, next(self._keys))

    def press(self) -> None:
        """Type, and wait for what is found."""
        self.type()
        self.client.published(self.uri, self.version)
        with self.client.arrived:
            self.client.received.clear()

    def _typing(self) -> Iterator[Json]:
        at = self.line
        for form in itertools.cycle(range(4)):
            n = next(self._number)
            word = (
                f"  const float extra{n} = {n}.0f * threadIdx.x;",
                f"  // remark {n}",
                f"  if (threadIdx.x > {n}) {{ volatile int value{n} = {n}; }}",
                f"  __shared__ int more{n}[4];",
            )[form]
            yield replacing((at, 0), (at, 0), "\n")
            start = word.index(str(n))  # what is before has come before
            yield replacing((at, 0), (at, 0), word[:start])
            for column in range(start, len(word)):
                yield replacing((at, column), (at, column), word[column])
            yield replacing((at, 0), (at + 1, 0), "")


@benchmark(unit="MB", better="lower")
def measure(
    folders: tuple[Path, ...] = (),
    *,
    edits: int = 20_000,
    documents: int = 2_000,
    files: int = 30,
    parts: int = 20,
    minutes: Annotated[float | None, "of edits, at most"] = None,
) -> Iterator[Told]:
    found = candidates(folders or [cache_folder()])
    if not found:
        raise Missing("no file is suited: tests/corpora/fetch.py fetches the corpora")
    chosen = spread_over(found, files)
    total = sum(lines for lines, _ in chosen)
    yield f"{len(chosen)} files of {chosen[0][0]:,} to {chosen[-1][0]:,} lines, {total:,} in all"
    client = Client(NO_PAUSE)
    client.initialize(
        {"textDocument": {"publishDiagnostics": {"versionSupport": True}}},
        initializationOptions={"settings": {"nvcc": "off"}},
    )
    yield from report(client, "start")
    yield from edit(client, [path for _, path in chosen], edits, parts, minutes)
    yield from open_and_close(client, [path for _, path in found], documents, parts)
    yield Figure("peak", megabytes(client.process.pid, "VmHWM"))
    client.shut_down()


def report(client: Client, what: str, times: Sequence[float] = ()) -> Iterator[Figure]:
    yield Figure(what, megabytes(client.process.pid))
    yield from spread(f"{what}, key", times, (0.5,), "ms")


def edit(
    client: Client, paths: Sequence[Path], edits: int, parts: int, minutes: float | None
) -> Iterator[Told]:
    rng, number = random.Random(1), itertools.count(1_000_001)
    typists: list[Typist] = []
    for path in paths:
        text = read(path)
        client.open(path.as_uri(), text)
        client.published(path.as_uri(), 1)
        typists.append(Typist(client, path.as_uri(), text, number))
    yield from report(client, f"{len(paths)} open")
    typist, times = typists[0], list[float]()
    started = time.perf_counter()
    for count in range(1, edits + 1):
        if minutes is not None and time.perf_counter() - started > minutes * 60:
            yield from report(client, "edits, out of time", times)
            break
        if rng.random() * STAYS < 1:
            typist = rng.choice(typists)
        times.append(clock_ms(typist.press))
        if count % max(1, edits // parts) == 0:
            yield from report(client, f"{count:,} edits", times)
            times.clear()
    time.sleep(IDLE)
    yield from report(client, "idle")
    for path in paths:
        client.close(path.as_uri())


def open_and_close(client: Client, paths: Sequence[Path], documents: int, parts: int) -> Iterator[Told]:
    """Each time another text: every occurrence of a common word is spelt anew."""
    times: list[float] = []
    for count, path in zip(range(1, documents + 1), itertools.cycle(paths)):
        text = read(path)
        text = re.sub(r"\bthreadIdx\.x;", f"threadIdx.x + {count} - {count};", text)
        uri = path.with_name(f"copy{count}{path.suffix}").as_uri()
        before = time.perf_counter()
        client.open(uri, f"// copy {count}\n{text}")
        client.published(uri, 1)
        times.append(1e3 * (time.perf_counter() - before))
        client.close(uri)
        with client.arrived:
            client.received.clear()
        if count % max(1, documents // parts) == 0:
            yield from report(client, f"{count:,} closed", times)
            times.clear()
    time.sleep(IDLE)
    yield from report(client, "idle, all closed")
