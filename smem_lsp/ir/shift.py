"""The IR of a kernel that moved in its file: the same kernel at other places.

Where a kernel was lowered again, ``placeless`` tells whether it is the same but for its places. Whatever was edited,
the analyses of the earlier one hold for it then."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Protocol

from smem_lsp.ir.causes import Cause, Opens
from smem_lsp.ir.nodes import (
    Access,
    Barrier,
    Branch,
    Buffer,
    CopyWait,
    DeclarationSite,
    Exchange,
    FunctionPart,
    GlobalAccess,
    Jump,
    Kernel,
    Loop,
    Node,
    Place,
    Proxy,
    Remote,
    Seq,
)
from smem_lsp.source import SourceText, Span
from smem_lsp.source.record import dataclass
from smem_lsp.syntax.lexer import Layout
from smem_lsp.syntax.parse import Function

_NOWHERE = Span(0, 0)


class Placement(Protocol):
    """From where a kernel stood to where it stands."""

    def span(self, old: Span) -> Span: ...

    def line(self, old: int) -> int: ...


def moved_names(old: Mapping[str, int], to: Placement) -> dict[str, int]:
    """Names with the offsets of their declarations; -1 stands for that of a parameter."""
    return {name: at if at < 0 else to.span(Span(at, at)).start for name, at in old.items()}


@dataclass(frozen=True, slots=True)
class Move:
    """One function that a kernel is made of: where it stood, and how far it has moved. ``within``: where comments or
    blank lines in it have changed, how its words have moved in it."""

    span: Span
    first_line: int
    last_line: int
    characters: int
    lines: int
    within: Replaced | None = None

    def offset(self, old: int) -> int:
        if self.within is None:
            return old + self.characters
        start = self.span.start
        return (
            _placed(old - start, self.within.before.offsets, self.within.after.offsets)
            + start
            + self.characters
        )

    def line(self, old: int) -> int:
        if self.within is None:
            return old + self.lines
        return self.within.line(old - self.first_line) + self.first_line + self.lines


@dataclass(frozen=True, slots=True)
class Moves:
    """How the functions that a kernel is made of have moved; the kernel itself comes first. ``outside``: where its
    arrays stood that are declared outside of them, and where they stand."""

    parts: tuple[Move, ...]
    outside: tuple[tuple[Span, Span], ...] = ()

    @property
    def none(self) -> bool:
        stay = all(old == new for old, new in self.outside)
        return stay and not any(part.characters or part.lines or part.within for part in self.parts)

    @property
    def together(self) -> bool:
        """Have all parts moved alike?"""
        along = all(old.moved(self.parts[0].characters) == new for old, new in self.outside)
        return (
            along
            and len({(part.characters, part.lines, part.within) for part in self.parts}) == 1
            and not any(part.within for part in self.parts)
        )

    def span(self, old: Span) -> Span:
        for before, now in self.outside:
            if before == old:
                return now
        part = next((part for part in self.parts if part.span.covers(old)), self.parts[0])
        return Span(part.offset(old.start), part.offset(old.end))

    def line(self, old: int) -> int:
        part = next((p for p in self.parts if p.first_line <= old <= p.last_line), self.parts[0])
        return part.line(old)


@dataclass(frozen=True)
class Places:
    """All places that the IR of a kernel names, rising."""

    offsets: tuple[int, ...]
    lines: tuple[int, ...]

    @cached_property
    def numbered_offsets(self) -> Mapping[int, int]:
        return {offset: number for number, offset in enumerate(self.offsets)}

    @cached_property
    def numbered_lines(self) -> Mapping[int, int]:
        return {line: number for number, line in enumerate(self.lines)}

    def span(self, old: Span) -> Span:
        """Its ends, by their numbers among all offsets."""
        numbers = self.numbered_offsets
        return Span(numbers[old.start], numbers[old.end])

    def line(self, old: int) -> int:
        """By its number among all lines."""
        return self.numbered_lines[old]


@dataclass(frozen=True, slots=True)
class Replaced:
    """From the places of one kernel to those of another one that is the same but for its places."""

    before: Places
    after: Places

    def span(self, old: Span) -> Span:
        return Span(self._offset(old.start), self._offset(old.end))

    def _offset(self, old: int) -> int:
        return _placed(old, self.before.offsets, self.after.offsets)

    def line(self, old: int) -> int:
        return _placed(old, self.before.lines, self.after.lines)


def _placed(old: int, before: Sequence[int], after: Sequence[int]) -> int:
    """A place that the kernel does not name stays as far behind the nearest one before it."""
    at = max(bisect_right(before, old) - 1, 0)
    return after[at] + old - before[at] if before else old


@dataclass(frozen=True, slots=True)
class Twice:
    """One placement, then another."""

    first: Placement
    then: Placement

    def span(self, old: Span) -> Span:
        return self.then.span(self.first.span(old))

    def line(self, old: int) -> int:
        return self.then.line(self.first.line(old))


class _Noted:
    """Notes the places that it is asked for."""

    __slots__ = ("lines", "offsets")

    def __init__(self) -> None:
        self.offsets: set[int] = set()
        self.lines: set[int] = set()

    def span(self, old: Span) -> Span:
        self.offsets.update((old.start, old.end))
        return old

    def line(self, old: int) -> int:
        self.lines.add(old)
        return old


def placeless(kernel: Kernel) -> tuple[Kernel, Places]:
    """``kernel`` with numbers in the place of its places, which two kernels share that are the same elsewhere, and its
    places in their order. What no analysis looks at is left out: names, what lowering took for granted, and where the
    launches stand."""
    launches = tuple(site.at(_NOWHERE, 0) for site in kernel.launches)
    limits = tuple(each for each in kernel.limits if not each.opens & (Opens.ASSUMED | Opens.CALLS))
    kernel = replace(kernel, launches=launches, local_names={}, identifiers=frozenset(), limits=limits)
    noted = _Noted()
    shift_kernel(kernel, noted)
    places = Places(tuple(sorted(noted.offsets)), tuple(sorted(noted.lines)))
    return shift_kernel(kernel, places), places


def moves(
    kernel: Kernel,
    layouts: Sequence[Layout],
    now: Sequence[Function],
    source: SourceText,
    outside: Mapping[str, Span],
) -> Moves:
    """From where the functions of ``kernel`` stood to where they stand now, in the same order. ``layouts``: of their
    texts then. ``outside``: where arrays stand now that are declared outside functions."""
    parts = [
        _move(part, layout, function, source)
        for part, layout, function in zip(kernel.parts, layouts, now, strict=True)
    ]
    apart = (each for each in kernel.buffers if not any(part.span.covers(each.declared) for part in parts))
    stood = {each.declared: outside[each.name] for each in apart if each.name in outside}
    return Moves(tuple(parts), tuple(stood.items()))


def _move(part: FunctionPart, layout: Layout, function: Function, source: SourceText) -> Move:
    line, own = source.line_number(function.span.start), function.definition.layout
    within = None
    if own is not layout and (own.starts, own.lines) != (layout.starts, layout.lines):
        within = Replaced(_places(layout), _places(own))
    return Move(
        part.span,
        part.first_line,
        part.last_line,
        function.span.start - part.span.start,
        line - part.first_line,
        within,
    )


def _places(layout: Layout) -> Places:
    return Places(tuple(layout.starts), tuple(layout.lines))


def shift_kernel(kernel: Kernel, to: Placement) -> Kernel:
    """``kernel`` with every span and line moved; launches are left to the caller."""
    span = to.span

    def cause(old: Cause) -> Cause:
        return old.moved(to.line)

    def maybe(old: Span | None) -> Span | None:
        return None if old is None else to.span(old)

    def site(old: DeclarationSite) -> DeclarationSite:
        return replace(
            old,
            statement=maybe(old.statement),
            specifiers=maybe(old.specifiers),
            declarator=maybe(old.declarator),
            name=maybe(old.name),
            scope=span(old.scope),
        )

    def buffer(old: Buffer) -> Buffer:
        fixed = None if old.fixed is None else cause(old.fixed)
        kept = tuple(replace(each, reason=cause(each.reason)) for each in old.kept)
        return replace(old, declared=span(old.declared), site=site(old.site), fixed=fixed, kept=kept)

    def seq(old: Seq) -> Seq:
        return Seq(tuple(node(item) for item in old.items))

    def node(old: Node) -> Node:
        match old:
            case Access(keeps=Cause() as keeps):
                return replace(old, span=maybe(old.span), line=to.line(old.line), keeps=cause(keeps))
            case Access() | Barrier() | Exchange() | Proxy() | Remote():
                return replace(old, span=maybe(old.span), line=to.line(old.line))
            case Place():
                return replace(old, statement=maybe(old.statement), line=to.line(old.line))
            case Jump() | GlobalAccess() | CopyWait():
                return replace(old, line=to.line(old.line))
            case Branch():
                return replace(
                    old,
                    then=seq(old.then),
                    otherwise=seq(old.otherwise),
                    span=maybe(old.span),
                    line=to.line(old.line),
                )
            case Loop():
                return replace(old, body=seq(old.body), span=maybe(old.span), line=to.line(old.line))
            case _:
                return old

    return replace(
        kernel,
        limits=tuple(map(cause, kernel.limits)),
        span=span(kernel.span),
        name_span=span(kernel.name_span),
        line=to.line(kernel.line),
        buffers=tuple(buffer(b) for b in kernel.buffers),
        body=seq(kernel.body),
        names=tuple(
            replace(each, site=None if each.site is None else site(each.site)) for each in kernel.names
        ),
        inlined=tuple(
            replace(each, span=span(each.span), line=to.line(each.line)) for each in kernel.inlined
        ),
        calls=tuple(replace(each, span=maybe(each.span), line=to.line(each.line)) for each in kernel.calls),
        drained=None if kernel.drained is None else replace(kernel.drained, body=seq(kernel.drained.body)),
        unreferable={index: cause(why) for index, why in kernel.unreferable.items()},
        local_names=moved_names(kernel.local_names, to),
        conditional=tuple(span(region) for region in kernel.conditional),
        parts=tuple(
            FunctionPart(span(part.span), to.line(part.first_line), to.line(part.last_line))
            for part in kernel.parts
        ),
        opening=None if kernel.opening is None else span(Span(kernel.opening, kernel.opening)).start,
    )
