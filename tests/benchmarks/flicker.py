"""Findings that flash while somebody types: ``python tests/benchmarks/flicker.py [--count 1000] [--seed 0]``.

Each recording takes one statement out of a kernel of ``tests/kernels`` and types it again, key by key, as an editor
sends it. Counted are findings that come and go, or go and come back, within two seconds.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS.parent)]

from server.typing_hands import Screen, recordings, type_statement  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    texts = [path.read_text(encoding="utf-8") for path in sorted((TESTS / "kernels").glob("*.cu"))]
    typed = changes = 0
    flickers: Counter[str] = Counter()
    started = time.process_time()
    for text, at, statement in recordings(texts, options.count, options.seed):
        screen = Screen(text)
        type_statement(screen, at, statement)
        typed += 1
        changes = max(changes, len(screen.history) - 1)
        for code, kernel, _ in screen.flickers():
            flickers[code] += 1
            print(f"{code} in {kernel} while typing {statement!r}")
    print(f"{typed} typings, {flickers.total()} findings flash, at most {changes} changes of the screen")
    print(f"{time.process_time() - started:.0f} s of processor time")
    return 1 if flickers else 0


if __name__ == "__main__":
    sys.exit(main())
