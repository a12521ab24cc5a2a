"""The choices that make a kernel: drawn from a seed, or given, so that fewer and smaller ones give a smaller kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import TypeVar

Item = TypeVar("Item")


class Choices:
    """``drawn``: the numbers chosen so far, 0 the simplest each time; ``spans``: from where to where in them one part
    of the kernel was made."""

    def __init__(self, seed: int | None = None, given: Sequence[int] = ()) -> None:
        self._random = None if seed is None else Random(seed)
        self._given = given
        self.drawn: list[int] = []
        self.spans: list[tuple[int, int]] = []

    def below(self, count: int) -> int:
        at = len(self.drawn)
        if self._random is not None:
            value = self._random.randrange(count)
        else:
            value = min(self._given[at], count - 1) if at < len(self._given) else 0
        self.drawn.append(value)
        return value

    def pick(self, items: Sequence[Item]) -> Item:
        """The first one is the simplest."""
        return items[self.below(len(items))]

    def chance(self, percent: int) -> bool:
        """False is the simpler one."""
        return self.below(100) >= 100 - percent

    @contextmanager
    def span(self) -> Iterator[None]:
        begin = len(self.drawn)
        yield
        if len(self.drawn) > begin:
            self.spans.append((begin, len(self.drawn)))
