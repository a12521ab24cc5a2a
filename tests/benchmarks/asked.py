"""How long a hover, the menu and the lenses take while somebody types.

The real server over stdio, without a pause before its analyses. A key is pressed in the file and at some moment of the
analysis that follows one of the three is asked for, where the last key was or at a `__shared__`. No text comes twice.
Milliseconds until the answer, whatever it says.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated

from benchmarks.keystroke import NO_PAUSE, PULL
from benchmarks.runner.declared import Told, benchmark
from benchmarks.runner.figures import clock_ms, quantile, spread
from benchmarks.runner.programs import read
from benchmarks.server_memory import Typist
from server.client import Client


@benchmark(unit="ms", better="lower")
def measure(
    files: tuple[Path, ...], *, keys: Annotated[int, "for each kind of question"] = 60
) -> Iterator[Told]:
    for path in (file.resolve() for file in files):
        for name, times in waits(path, keys).items():
            yield from spread(f"{path.name}, {name}", times, (0.5, 0.99, 1))


def waits(path: Path, keys: int) -> dict[str, list[float]]:
    """Milliseconds by what was asked for."""
    text = read(path)
    uri, random_ = path.as_uri(), random.Random(1)
    client = Client(NO_PAUSE)
    client.initialize(PULL, initializationOptions={"settings": {"nvcc": "off"}})
    client.open(uri, text)
    client.pulled(uri)
    typist = Typist(client, uri, text, itertools.count(1_000_001))
    buffer = next(n for n, line in enumerate(text.split("\n")) if "__shared__" in line)
    column = text.split("\n")[buffer].index("__shared__") + 20
    document = {"textDocument": {"uri": uri}}
    questions: dict[str, Callable[[int], object]] = {
        "hover": lambda line: client.hover(uri, line, column if line == buffer else 3),
        "menu": lambda line: client.actions(uri, (line, 3)),
        "lens": lambda line: client.request("textDocument/codeLens", document),
    }

    def press() -> float:
        typist.type()
        return clock_ms(lambda: client.pulled(uri)) / 1e3

    usual = quantile([press() for _ in range(10)], 0.5)
    times: dict[str, list[float]] = {name: [] for name in questions}
    for _ in range(keys):
        for name, ask in questions.items():
            typist.type()
            analysed = client.ask("textDocument/diagnostic", document)
            time.sleep(random_.random() * usual)
            line = random_.choice((buffer, typist.line))
            times[name].append(clock_ms(partial(ask, line)))
            analysed.result(100)
    client.shut_down()
    return times
