"""How long a hover, the menu and the lenses take while somebody types.

    python tests/benchmarks/asked.py FILE ... [--keys 60]

The real server over stdio, without a pause before its analyses. A key is pressed in the file and at some moment of the
analysis that follows one of the three is asked for, where the last key was or at a `__shared__`. No text comes twice.
Printed are milliseconds until the answer, whatever it says.
"""

from __future__ import annotations

import argparse
import itertools
import random
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.keystroke import NO_PAUSE, PULL, timed
from benchmarks.server_memory import Typist
from server.client import Client


def waits(path: Path, keys: int) -> dict[str, list[float]]:
    """Milliseconds by what was asked for."""
    text = path.read_text(encoding="utf-8", errors="replace")
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
        return timed(lambda: client.pulled(uri)) / 1e3

    usual = statistics.median(press() for _ in range(10))
    times: dict[str, list[float]] = {name: [] for name in questions}
    for _ in range(keys):
        for name, ask in questions.items():
            typist.type()
            analysed = client.ask("textDocument/diagnostic", document)
            time.sleep(random_.random() * usual)
            line = random_.choice((buffer, typist.line))
            times[name].append(timed(partial(ask, line)))
            analysed.result(100)
    client.shut_down()
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--keys", type=int, default=60, help="for each kind of question")
    flags = parser.parse_args()
    for path in flags.files:
        lines = path.read_text(encoding="utf-8", errors="replace").count("\n")
        print(f"{path.name}, {lines:,} lines")
        for name, times in waits(path, flags.keys).items():
            ordered = sorted(times)
            last = ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]
            print(
                f"  {name:<6} p50 {statistics.median(times):6.1f}  p99 {last:6.1f}  most {ordered[-1]:6.1f}"
            )


if __name__ == "__main__":
    main()
