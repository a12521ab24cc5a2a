"""The IR of a kernel that moved in its file: the same kernel, some characters and lines further on."""

from __future__ import annotations

import re
from dataclasses import replace

from smem_lsp.ir.model import (
    Access,
    Barrier,
    Branch,
    Buffer,
    DeclarationSite,
    Jump,
    Kernel,
    Loop,
    Node,
    Place,
    Seq,
)
from smem_lsp.source import Span

_LINE = re.compile(r"(\bline )(\d+)")  # reasons name lines of the kernel


def shift_kernel(kernel: Kernel, characters: int, lines: int) -> Kernel:
    """``kernel`` with every span and line moved; launches are left to the caller."""

    def span(old: Span) -> Span:
        return Span(old.start + characters, old.end + characters)

    def maybe(old: Span | None) -> Span | None:
        return None if old is None else Span(old.start + characters, old.end + characters)

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
        return replace(old, declared=span(old.declared), site=site(old.site), fixed=fixed)

    def seq(old: Seq) -> Seq:
        return Seq(tuple(node(item) for item in old.items))

    def node(old: Node) -> Node:
        match old:
            case Access() | Barrier():
                return replace(old, span=maybe(old.span), line=old.line + lines)
            case Place():
                return replace(old, statement=maybe(old.statement), line=old.line + lines)
            case Jump():
                return replace(old, line=old.line + lines)
            case Branch():
                return replace(
                    old,
                    then=seq(old.then),
                    otherwise=seq(old.otherwise),
                    span=maybe(old.span),
                    line=old.line + lines,
                )
            case Loop():
                return replace(old, body=seq(old.body), span=maybe(old.span), line=old.line + lines)
            case _:
                return old

    def words(text: str) -> str:
        return _LINE.sub(lambda m: f"{m[1]}{int(m[2]) + lines}", text)

    return replace(
        kernel,
        irregular=None if kernel.irregular is None else words(kernel.irregular),
        hidden=tuple(words(reason) for reason in kernel.hidden),
        unknown=tuple(words(reason) for reason in kernel.unknown),
        span=span(kernel.span),
        name_span=span(kernel.name_span),
        line=kernel.line + lines,
        buffers=tuple(buffer(b) for b in kernel.buffers),
        body=seq(kernel.body),
        unreferable={index: words(reason) for index, reason in kernel.unreferable.items()},
        local_names={name: offset + characters for name, offset in kernel.local_names.items()},
        conditional=tuple(span(region) for region in kernel.conditional),
        opening=None if kernel.opening is None else kernel.opening + characters,
    )
