"""Figures of many values at once, and how times are taken."""

from __future__ import annotations

import cProfile
import math
import pstats
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

from .declared import Better, Figure


def processor_ms(work: Callable[[], object]) -> float:
    """Milliseconds of this process's processor time."""
    started = time.process_time()
    work()
    return (time.process_time() - started) * 1e3


def clock_ms(work: Callable[[], object]) -> float:
    """Milliseconds of the clock."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1e3


@contextmanager
def profiled(wanted: bool) -> Iterator[None]:
    """Print where the time inside goes, if it is wanted."""
    if not wanted:
        yield
        return
    profile = cProfile.Profile(time.process_time)
    profile.enable()
    try:
        yield
    finally:
        profile.disable()
        pstats.Stats(profile).sort_stats("cumulative").print_stats(60)


def quantile(values: Collection[float], part: float) -> float:
    """As many as ``part`` of the values are not above it."""
    return sorted(values)[max(0, math.ceil(part * len(values)) - 1)]


def spread(
    name: str, values: Collection[float], parts: Sequence[float] = (0.5, 0.99), unit: str | None = None
) -> Iterator[Figure]:
    """Quantiles, ``max`` for that of 1; nothing where there are no values."""
    for part in parts if values else ():
        word = "max" if part == 1 else f"p{100 * part:g}"
        yield Figure(f"{name} {word}".strip(), quantile(values, part), unit, "lower")


def counted(
    tally: Any, *, lower: Collection[str] = ("wrong",), higher: Collection[str] = ()
) -> Iterator[Figure]:
    """The fields of a dataclass: numbers, lengths of lists and sets, and each count of a Counter."""
    for field in fields(tally):
        value, name = getattr(tally, field.name), field.name.replace("_", " ")
        better: Better = "lower" if field.name in lower else "higher" if field.name in higher else "neither"
        if isinstance(value, Counter):
            yield from (Figure(f"{name}: {key}", count, "", better) for key, count in value.most_common())
        else:
            yield Figure(name, value if isinstance(value, (int, float)) else len(value), "", better)


def parts_of(counts: Mapping[str, int], whole: int, kinds: Iterable[str], of: str = "") -> Iterator[Figure]:
    """How many of the whole each kind has."""
    yield from (Figure(f"{of}{kind}", counts[kind], "", whole=whole) for kind in kinds)
