"""Questions about a buffer that several rules ask."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from smem_lsp.ir.causes import CauseKind
from smem_lsp.ir.nodes import Access, AddressSpace, Buffer, Kernel, walk
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.source import SourceText, Span, checkpoint
from smem_lsp.source.regex import regex
from smem_lsp.syntax.lexer import comments, without_comments
from smem_lsp.syntax.parse import Function

_NAME = regex(r"(?<![\w.])(?<!->)[^\W\d]\w*")


def accessed(facts: KernelFacts) -> frozenset[int]:
    """Buffers with at least one access, or that may be reached in a way that is not followed."""
    found = {node.buffer for node in walk(facts.kernel.body) if isinstance(node, Access)}
    found |= {
        buffer.index
        for buffer in facts.kernel.buffers
        if buffer.fixed is not None and buffer.fixed.kind is not CauseKind.DYNAMIC
    }
    return frozenset(found)


class Mentions:
    """Where names stand in a kernel and in the blocks that its buffers are declared in: a text is looked through once,
    however many buffers ask. Comments and members do not count."""

    __slots__ = ("_facts", "_places")

    def __init__(self, facts: KernelFacts) -> None:
        self._facts = facts
        self._places: dict[Span, Mapping[str, Sequence[int]]] = {}

    def elsewhere(self, buffer: Buffer) -> bool:
        """Does the name stand anywhere in the kernel, or in the block of a function that it calls which has the buffer,
        but in its declaration?"""
        kernel, scope = self._facts.kernel.at, buffer.site.scope
        places = [kernel] if kernel.covers(scope) else [scope, kernel]
        declared = self._facts.span(buffer.declared).start
        return any(
            at != declared for each in places for at in self._in(self._facts.span(each)).get(buffer.name, ())
        )

    def _in(self, span: Span) -> Mapping[str, Sequence[int]]:
        places = self._places.get(span)
        if places is None:
            places = self._places[span] = _names(self._facts.source.slice(span), span.start)
        return places


def may_be_unused(source: SourceText, parts: Sequence[Function]) -> bool:
    """May a shared array of the kernel, the first of ``parts``, stand nowhere but in its declaration? Arrays of the
    functions that it calls are not looked at: they may be."""
    kernel, *called = parts
    if any("__shared__" in each.definition.body_words for each in called):
        return True
    places = _names(source.slice(kernel.span), kernel.span.start)
    declaring = False
    tokens = kernel.body.tokens
    for kind, text in zip(tokens.kinds, tokens.texts):
        if text == "__shared__":
            declaring = True
        elif text == ";":
            declaring = False
        elif declaring and kind == "NAME" and len(places.get(text, ())) < 2:
            return True
    return False


def _names(text: str, start: int) -> Mapping[str, Sequence[int]]:
    """The offsets of each name in ``text``, which begins at ``start``."""
    places: dict[str, list[int]] = {}
    hidden = comments(text)
    number = 0
    for found in _NAME.finditer(text):
        checkpoint()
        at = found.start()
        while number < len(hidden) and hidden[number].end <= at:
            number += 1
        if number == len(hidden) or at < hidden[number].start:
            places.setdefault(found[0], []).append(start + at)
    return places


def inactive_names(facts: KernelFacts) -> frozenset[str]:
    """Names in conditional regions of the kernel: their other branches may use them otherwise."""
    regions = (without_comments(facts.text(region)) for region in facts.kernel.conditional)
    return frozenset(name for region in regions for name in re.findall(r"\w+", region))


def unsized(kernel: Kernel) -> list[str]:
    """What the static bytes of a kernel lack, in words: ```tmp` of `cub::BlockScan<int, N>::TempStorage```."""
    buffers = (*kernel.buffers, *kernel.helper_bytes)
    return [_unsized(each) for each in buffers if each.space is AddressSpace.STATIC and each.bytes is None]


def _unsized(buffer: Buffer) -> str:
    if buffer.element_bytes is None:
        kind = (buffer.written.type or buffer.type).removeprefix("typename ")
        return f"`{buffer.name}`" if "{" in kind or not kind else f"`{buffer.name}` of `{kind}`"
    lacking = [text for text, n in zip(buffer.written.dims, buffer.dims) if n is None and text]
    return f"`{buffer.name}` of `[{']['.join(lacking)}]`" if lacking else f"`{buffer.name}`"
