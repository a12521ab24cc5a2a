"""What a finding says, in parts: text, and the lines that it names, which move with the kernel and its launches."""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.facts.stopped import OF_BUDGET, Why
from smem_lsp.source.record import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the kernel, or, with ``launch``, of the launches of the kernel; from 1."""

    number: int
    launch: bool = False

    def __str__(self) -> str:
        return str(self.number)

    def moved(self, lines: int, launches: int) -> Line:
        return Line(self.number + (launches if self.launch else lines), self.launch)


@dataclass(frozen=True, slots=True)
class Words:
    """As text it is what the user reads."""

    parts: tuple[str | Line, ...] = ()

    def __str__(self) -> str:
        return "".join(map(str, self.parts))

    def __bool__(self) -> bool:
        return bool(self.parts)

    def __add__(self, other: str | Words) -> Words:
        return said(self, other)

    def moved(self, lines: int, launches: int) -> Words:
        """The same, so many lines further on."""
        return Words(tuple(p.moved(lines, launches) if isinstance(p, Line) else p for p in self.parts))


def ended(why: Why) -> str:
    """Why an analysis has no result, as the reason for a verdict: ``out of effort``."""
    return f"out of {why.value}" if why in OF_BUDGET else why.value


def listed_words(items: Sequence[Words]) -> Words:
    """``a``, ``a and b``, ``a, b and c``."""
    found: list[str | Words] = []
    for number, item in enumerate(items):
        if number:
            found.append(" and " if number == len(items) - 1 else ", ")
        found.append(item)
    return said(*found)


def said(*parts: str | Line | Words) -> Words:
    """The parts in one text."""
    found: list[str | Line] = []
    for part in parts:
        if isinstance(part, Words):
            found += part.parts
        elif part:
            found.append(part)
    return Words(tuple(found))
