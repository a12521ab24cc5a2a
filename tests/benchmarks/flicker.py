"""Findings that flash while somebody types.

Each recording takes one statement out of a kernel of ``tests/kernels`` and types it again, key by key, as an editor
sends it. Counted are findings that come and go, or go and come back, within two seconds.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.runner.declared import Figure, Told, Wrong, benchmark
from benchmarks.runner.programs import TESTS, cuda_files, read
from server.typing_hands import Screen, recordings, type_statement


@benchmark(better="lower")
def measure(*, count: int = 1000, seed: int = 0) -> Iterator[Told]:
    texts = [read(path) for path in cuda_files([TESTS / "kernels"], suffixes=(".cu",))]
    typed = changes = flickers = 0
    for text, at, statement in recordings(texts, count, seed):
        screen = Screen(text)
        type_statement(screen, at, statement)
        typed += 1
        changes = max(changes, len(screen.history) - 1)
        for code, kernel, _ in screen.flickers():
            flickers += 1
            yield Wrong(f"{code} in {kernel} while typing {statement!r}")
    yield Figure("typings", typed, better="neither")
    yield Figure("findings that flash", flickers)
    yield Figure("changes of the screen, at most", changes)
