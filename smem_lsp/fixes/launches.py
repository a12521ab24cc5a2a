"""Where the arguments between ``<<<`` and ``>>>`` stand in the text."""

from __future__ import annotations

from smem_lsp.source import SourceText, Span


def configuration(source: SourceText, launch: Span) -> list[Span] | None:
    """The arguments of the first ``<<<grid, block, bytes, stream>>>`` in ``launch``, white space around them left out.
    None: there is none, or something in it may hide a comma."""
    opening = source.text.find("<<<", launch.start, launch.end)
    closing = source.text.find(">>>", opening, launch.end) if opening >= 0 else -1
    if closing < 0:
        return None
    depth, ends, starts = 0, list[int](), [opening + 3]
    for at in range(opening + 3, closing):
        char = source.text[at]
        depth += (char in "([{") - (char in ")]}")
        if char == "," and not depth:
            ends.append(at)
            starts.append(at + 1)
        if char in "/\"'<":  # comments, strings and template arguments
            return None
    return [_stripped(source, Span(start, end)) for start, end in zip(starts, [*ends, closing])]


def _stripped(source: SourceText, span: Span) -> Span:
    text = source.slice(span)
    return Span(span.start + len(text) - len(text.lstrip()), span.end - (len(text) - len(text.rstrip())))
