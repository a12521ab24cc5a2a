"""What a finding says, in parts: text, and the places that it names. What a rule says of a kernel names places of the
IR; they become lines of the file where it is printed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from smem_lsp.facts.stopped import OF_BUDGET, Why
from smem_lsp.ir.places import At, Row
from smem_lsp.source.record import dataclass

if TYPE_CHECKING:
    from smem_lsp.ir.nodes import Kernel, LaunchSite
    from smem_lsp.source import SourceText


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the file, from 1 on."""

    number: int

    def __str__(self) -> str:
        return str(self.number)


@dataclass(frozen=True, slots=True)
class LaunchPlace:
    """Where a kernel is launched. ``number``: of the launch among those of the kernel, from 0 on."""

    number: int

    @staticmethod
    def of(kernel: Kernel, site: LaunchSite) -> LaunchPlace:
        return LaunchPlace(kernel.launches.index(site))


_Part = str | Line | Row | At | LaunchPlace


@dataclass(frozen=True, slots=True)
class Words:
    """As text it is what the user reads."""

    parts: tuple[_Part, ...] = ()

    def __str__(self) -> str:
        """Raises TypeError where places of a kernel are named: see ``placed``."""
        if any(isinstance(each, Row | At | LaunchPlace) for each in self.parts):
            raise TypeError("only a kernel knows where its places are")
        return "".join(map(str, self.parts))

    def __bool__(self) -> bool:
        return bool(self.parts)

    def __add__(self, other: str | Words) -> Words:
        return said(self, other)

    def placed(self, kernel: Kernel, source: SourceText | None = None) -> Words:
        """The same of ``kernel`` where it stands now, with lines of the file. ``source``: its text; None: no range of
        it is named."""
        return said(*(_placed(each, kernel, source) for each in self.parts))

    def moved(self, lines: int) -> Words:
        """The same, so many lines further on in the file."""
        return Words(tuple(Line(p.number + lines) if isinstance(p, Line) else p for p in self.parts))


def _placed(part: _Part, kernel: Kernel, source: SourceText | None) -> str | Line | Words:
    match part:
        case Row():
            return Line(kernel.places.line(part))
        case At():
            assert source is not None
            return Line(source.line_number(kernel.places.span(part).start))
        case LaunchPlace():
            return _where(kernel.launches[part.number])
        case _:
            return part


def _where(site: LaunchSite) -> Words:
    """``line 40`` or ``runner.cu:203``; ``line 40, called from main.cu:7``."""
    called = "" if site.caller is None else f", called from {_file(site.caller)}"
    if site.path is not None:
        return said(f"{_file(site.path)}:{site.line}{called}")
    return said("line ", Line(site.line), called)


def _file(path: str) -> str:
    """Its name without folders."""
    return path.replace("\\", "/").rpartition("/")[2]


def ended(why: Why) -> str:
    """Why an analysis has no result, as the reason for a verdict: ``out of effort``."""
    return f"out of {why.value}" if why in OF_BUDGET else why.value


def listed_words(items: Sequence[Words]) -> Words:
    """``a``, ``a and b``, ``a, b and c``."""
    found: list[_Part | Words] = []
    for number, item in enumerate(items):
        if number:
            found.append(" and " if number == len(items) - 1 else ", ")
        found.append(item)
    return said(*found)


def said(*parts: _Part | Words) -> Words:
    """The parts in one text."""
    found: list[_Part] = []
    for part in parts:
        if isinstance(part, Words):
            found += part.parts
        elif part:
            found.append(part)
    return Words(tuple(found))
