"""Questions about a buffer that several rules ask."""

from __future__ import annotations

import re
from bisect import bisect_right

from smem_lsp.ir.model import Access, Buffer, walk
from smem_lsp.rules.subject import KernelFacts
from smem_lsp.source import Span
from smem_lsp.syntax.lexer import comments


def accessed(facts: KernelFacts) -> frozenset[int]:
    """Buffers with at least one access, or that may be reached in a way that is not followed."""
    found = {node.buffer for node in walk(facts.kernel.body) if isinstance(node, Access)}
    found |= {
        buffer.index for buffer in facts.kernel.buffers if buffer.fixed and "dynamic" not in buffer.fixed
    }
    return frozenset(found)


def mentioned_elsewhere(facts: KernelFacts, buffer: Buffer) -> bool:
    """Does the name stand anywhere in the kernel, or in the block of a function that it calls which has the buffer, but
    in its declaration? Comments do not count."""
    inside = facts.kernel.span.covers(buffer.site.scope)
    return any(
        _mentioned(facts, buffer, span)
        for span in ([] if inside else [buffer.site.scope]) + [facts.kernel.span]
    )


def _mentioned(facts: KernelFacts, buffer: Buffer, span: Span) -> bool:
    text = facts.source.text[span.start : span.end]
    hidden = [(c.start, c.end) for c in comments(text)]
    starts = [start for start, _ in hidden]
    for found in re.finditer(rf"(?<!\.)(?<!->)\b{re.escape(buffer.name)}\b", text):  # members are other names
        at = bisect_right(starts, found.start()) - 1
        if at >= 0 and found.start() < hidden[at][1]:
            continue
        if span.start + found.start() != buffer.declared.start:
            return True
    return False


def named_when_inactive(facts: KernelFacts, buffer: Buffer) -> bool:
    """Does a conditional region of the kernel name the buffer? Its other branches may use it otherwise."""
    word = re.compile(rf"\b{re.escape(buffer.name)}\b")
    return any(word.search(facts.source.slice(region)) for region in facts.kernel.conditional)
