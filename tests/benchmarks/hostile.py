"""Tries every hostile text at its full size, ten minutes on one core.

Each in a process of its own, as a user would run it. It is wrong when one takes too long or too much memory
(``tests/robustness/trying.py``), has no answer, or ends in an error.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from benchmarks.runner.declared import Figure, Told, Wrong, benchmark
from robustness.hostile import HOSTILE
from robustness.trying import try_text


@benchmark(better="lower")
def measure(
    names: Annotated[tuple[str, ...], "of hostile texts; without one, all"] = (),
    *,
    counts: Annotated[tuple[int, ...], "how often each repeats its construct"] = (),
) -> Iterator[Told]:
    bad = 0
    for name in names or HOSTILE:
        for count in counts or (HOSTILE[name].count,):
            with tempfile.TemporaryDirectory() as folder:
                text = HOSTILE[name].make(count)
                outcome = try_text(text, Path(folder))
            bad += bool(outcome.problems)
            yield Figure(f"{name} {count:,}", outcome.seconds, "s")
            yield Figure(f"{name} {count:,}", outcome.megabytes, "MB")
            yield from outcome.stopped or ()
            yield from (
                Wrong(f"{name} {count:,}, {len(text) / 1e6:.2f} MB: {each}") for each in outcome.problems
            )
    yield Figure("bad", bad)
