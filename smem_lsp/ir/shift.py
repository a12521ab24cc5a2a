"""The IR of a kernel that moved in its file: the same kernel, some characters and lines further on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

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
from smem_lsp.syntax.parse import Function

_LINE = re.compile(r"(\bline )(\d+)")  # reasons name lines of the kernel


@dataclass(frozen=True, slots=True)
class Move:
    """One function that a kernel is made of: where it stood, and how far it has moved."""

    span: Span
    first_line: int
    last_line: int
    characters: int
    lines: int


@dataclass(frozen=True, slots=True)
class Moves:
    """How the functions that a kernel is made of have moved; the kernel itself comes first."""

    parts: tuple[Move, ...]

    @property
    def none(self) -> bool:
        return not any(part.characters or part.lines for part in self.parts)

    @property
    def together(self) -> bool:
        """Have all parts moved alike?"""
        return len({(part.characters, part.lines) for part in self.parts}) == 1

    def span(self, old: Span) -> Span:
        part = next((part for part in self.parts if part.span.covers(old)), self.parts[0])
        return old.moved(part.characters)

    def line(self, old: int) -> int:
        part = next((p for p in self.parts if p.first_line <= old <= p.last_line), self.parts[0])
        return old + part.lines

    def words(self, old: str) -> str:
        """A reason that names lines."""
        return _LINE.sub(lambda m: f"{m[1]}{self.line(int(m[2]))}", old)


def moves(kernel: Kernel, now: Sequence[Function], source: SourceText) -> Moves:
    """From where the functions of ``kernel`` stood to where they stand now, in the same order."""
    parts = [_move(part, function, source) for part, function in zip(kernel.parts, now, strict=True)]
    return Moves(tuple(parts))


def _move(part: FunctionPart, function: Function, source: SourceText) -> Move:
    line = source.line_number(function.span.start)
    return Move(
        part.span,
        part.first_line,
        part.last_line,
        function.span.start - part.span.start,
        line - part.first_line,
    )


def shift_kernel(kernel: Kernel, to: Moves) -> Kernel:
    """``kernel`` with every span and line moved; launches are left to the caller."""
    span, words = to.span, to.words

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
        fixed = None if old.fixed is None else words(old.fixed)
        kept = tuple(replace(each, reason=words(each.reason)) for each in old.kept)
        return replace(old, declared=span(old.declared), site=site(old.site), fixed=fixed, kept=kept)

    def seq(old: Seq) -> Seq:
        return Seq(tuple(node(item) for item in old.items))

    def node(old: Node) -> Node:
        match old:
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
        irregular=None if kernel.irregular is None else words(kernel.irregular),
        hidden=tuple(words(reason) for reason in kernel.hidden),
        unknown=tuple(words(reason) for reason in kernel.unknown),
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
        unreferable={index: words(reason) for index, reason in kernel.unreferable.items()},
        local_names={
            name: to.span(Span(offset, offset)).start for name, offset in kernel.local_names.items()
        },
        conditional=tuple(span(region) for region in kernel.conditional),
        parts=tuple(
            FunctionPart(
                part.span.moved(move.characters), part.first_line + move.lines, part.last_line + move.lines
            )
            for part, move in zip(kernel.parts, to.parts)
        ),
        opening=None if kernel.opening is None else kernel.opening + to.parts[0].characters,
    )
