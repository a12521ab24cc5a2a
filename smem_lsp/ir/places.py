"""Places in the IR of a kernel, apart from the text: the IR numbers them, and a map beside it says where they are.

Offsets and lines are numbered as they follow each other in the text, those that the IR names and no others. So two
kernels that differ in nothing but where they stand are equal, a kernel that moves gets another map and is the same, and
the order of places is that of their numbers."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import tee
from typing import TYPE_CHECKING, TypeVar

from smem_lsp.ir.mapping import for_parts, mapped
from smem_lsp.source import Span, record
from smem_lsp.source.record import dataclass

if TYPE_CHECKING:
    from smem_lsp.syntax.lexer import TokenLayout

T = TypeVar("T")


@record(order=True)
class Row:
    """A line that the IR of a kernel names: its number among them, from 0 on. While a kernel is lowered it is the line
    of the file, from 1 on."""

    number: int

    def __str__(self) -> str:
        raise TypeError("only the map of a kernel knows the lines of its file")


@record(order=True)
class At:
    """A range of text that the IR of a kernel names: the numbers of its ends. While a kernel is lowered these are
    offsets in the file, in code points."""

    low: int
    high: int

    def __contains__(self, offset: object) -> bool:
        return isinstance(offset, int) and self.low <= offset < self.high

    def covers(self, other: At) -> bool:
        return self.low <= other.low and other.high <= self.high

    @staticmethod
    def of(span: Span) -> At:
        """While a kernel is lowered."""
        return At(span.start, span.end)

    @staticmethod
    def where(span: Span | None) -> At | None:
        """The same, where there may be none."""
        return None if span is None else At(span.start, span.end)


@record
class Part:
    """A function that a kernel is made of: where it stands, its first and last line (from 1 on), and where its words
    stand in it."""

    span: Span
    first_line: int
    last_line: int
    layout: TokenLayout = field(compare=False)

    def offset(self, old: int, end: bool, now: Part) -> int:
        """Where an offset of it is in a version that says the same. ``end``: what ends there."""
        if self.layout is now.layout:
            return old - self.span.start + now.span.start
        starts, at = self.layout.starts, old - self.span.start
        word = max((bisect_left(starts, at) if end else bisect_right(starts, at)) - 1, 0)
        return now.span.start + now.layout.starts[word] + at - starts[word]

    def line(self, old: int, now: Part) -> int:
        """The same of a line."""
        if self.layout is now.layout:
            return old - self.first_line + now.first_line
        lines, at = self.layout.lines, old - self.first_line
        word = max(bisect_right(lines, at) - 1, 0)
        return now.first_line + now.layout.lines[word] + at - lines[word]


@dataclass(frozen=True)
class SourceMap:
    """Where the places of a kernel are in its file. ``ends``: by number, twice the offset of each end of a range, and
    one more where the range begins; ``lines``: of each row, from 1 on; ``parts``: the functions that the kernel is made
    of, itself first; ``names``: what is declared in its body, with the offset of the first declaration; -1 stands for
    that of a parameter."""

    ends: tuple[int, ...] = ()
    lines: tuple[int, ...] = ()
    parts: tuple[Part, ...] = ()
    names: Mapping[str, int] = field(default_factory=dict)

    def span(self, at: At) -> Span:
        return Span(self.ends[at.low] >> 1, self.ends[at.high] >> 1)

    def start(self, at: At) -> int:
        """Offset of the first character."""
        return self.ends[at.low] >> 1

    def line(self, row: Row) -> int:
        """From 1 on."""
        return self.lines[row.number]

    def moved(self, now: Sequence[Part], known: Mapping[Span, Span]) -> SourceMap:
        """The map of the same kernel where its parts stand ``now``. ``known``: where other ranges stand."""
        if tuple(now) == self.parts and all(one == other for one, other in known.items()):
            if all(old.layout is new.layout for old, new in zip(self.parts, now)):
                return self
        return self.translated(Translation.of(self.parts, now, known))

    def keeps_order(self, to: Translation) -> bool:
        """Do the places follow each other as they do in the text that ``to`` leads to, each apart from the others?"""
        ends, lines = map(to.end, sorted(self.ends)), map(to.line, sorted(self.lines))
        return all(one < other for each in (ends, lines) for one, other in _neighbours(each))

    def translated(self, to: Translation) -> SourceMap:
        """The map of a kernel that is the same but for ``to``."""
        return SourceMap(
            tuple(to.end(each) for each in self.ends),
            tuple(map(to.line, self.lines)),
            to.now,
            {name: at if at < 0 else to.offset(at) for name, at in self.names.items()},
        )


def _neighbours(values: Iterable[int]) -> Iterator[tuple[int, int]]:
    first, second = tee(values)
    next(second, None)
    return zip(first, second)


@record
class Translation:
    """From where the parts of a kernel stood to where those stand that say the same; what is in no part moves with the
    first. ``known``: of ends of ranges, numbers as in ``SourceMap.ends``, where they are now."""

    before: tuple[Part, ...]
    now: tuple[Part, ...]
    known: Mapping[int, int]

    @classmethod
    def of(cls, before: Sequence[Part], now: Sequence[Part], known: Mapping[Span, Span]) -> Translation:
        """``known``: where ranges are that do not move with the words around them."""
        ends = {2 * old.start + 1: 2 * new.start + 1 for old, new in known.items()}
        ends |= {2 * old.end: 2 * new.end for old, new in known.items()}
        return cls(tuple(before), tuple(now), ends)

    def end(self, old: int) -> int:
        """Of ``SourceMap.ends``."""
        begins = old & 1
        return self.known.get(old) or 2 * self.offset(old >> 1, end=not begins) + begins

    def offset(self, old: int, *, end: bool = False) -> int:
        """``end``: of what ends there, not of what begins there."""
        for part, now in zip(self.before, self.now):
            if part.span.start + end <= old < part.span.end + end:
                return part.offset(old, end, now)
        return self.before[0].offset(old, end, self.now[0])

    def line(self, old: int) -> int:
        pairs = zip(self.before, self.now)
        found = next((pair for pair in pairs if pair[0].first_line <= old <= pair[0].last_line), None)
        part, now = found or (self.before[0], self.now[0])
        return part.line(old, now)


@dataclass
class Numbering:
    """Numbers for offsets and lines. One that has none yet gets the next one."""

    ends: dict[int, int]
    lines: dict[int, int]

    @classmethod
    def of(cls, value: object) -> Numbering:
        """Of all places in ``value``, rising."""
        ends, lines = set[int](), set[int]()
        for_parts(
            value,
            {
                At: lambda old: ends.update((2 * old.low + 1, 2 * old.high)),
                Row: lambda old: lines.add(old.number),
            },
        )
        return cls(*({number: at for at, number in enumerate(sorted(each))} for each in (ends, lines)))

    @classmethod
    def in_map(cls, places: SourceMap) -> Numbering:
        """As they are in ``places``."""
        ends = {end: number for number, end in enumerate(places.ends)}
        return cls(ends, {line: number for number, line in enumerate(places.lines)})

    def at(self, old: At) -> At:
        start, end = 2 * old.low + 1, 2 * old.high
        ends = self.ends
        return At(ends.setdefault(start, len(ends)), ends.setdefault(end, len(ends)))

    def row(self, old: Row) -> Row:
        return Row(self.lines.setdefault(old.number, len(self.lines)))

    def numbered(self, value: T) -> T:
        """``value`` with numbers for all places in it."""
        return mapped(value, {At: self.at, Row: self.row})
