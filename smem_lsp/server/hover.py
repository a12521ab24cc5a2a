"""What is under the cursor: a buffer, a kernel, a barrier, or a rule in a suppression comment."""

from __future__ import annotations

import re
from bisect import bisect_right

from smem_lsp.engine.report import FileReport, KernelReport
from smem_lsp.ir.nodes import Barrier, BarrierKind, Buffer, BufferAlias, Kernel, walk
from smem_lsp.rules.contracts import contracts
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.host_streams import stream_at
from smem_lsp.rules.registry import find_rule
from smem_lsp.server.analysis import Analysis
from smem_lsp.server.buffer_hover import buffer_lines, reference_lines
from smem_lsp.server.kernel_hover import kernel_lines, kernel_stairs
from smem_lsp.server.markdown import markdown_line, plain_line
from smem_lsp.source import SourceText, Span
from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex
from smem_lsp.syntax.lexer import LAUNCH_OPENING, comments

_WORD = regex(r"[A-Za-z_]\w*")
_RULE = regex(r"[A-Za-z][\w-]*")
_DIRECTIVE = regex(r"smem:[ \t]*[a-z-]+[ \t]*\[[^\]\r\n]*")
_LAUNCH = regex(rf"\s*(?:<[^<>;{{}}]*>\s*)?{LAUNCH_OPENING.pattern}")
_CALLED = regex(r"\s*(?:<[^<>;{}]*>\s*)?\(")
_MEMBER = regex(r"(?:\.|->|::)\s*\Z")


@dataclass(frozen=True, slots=True)
class Hover:
    """Lines of Markdown about ``span``. ``drawn``: lines below them that need a monospaced font."""

    lines: tuple[str, ...]
    span: Span
    drawn: tuple[str, ...] = ()

    def markdown(self) -> str:
        drawn = "\n".join(("\n", "```text", *self.drawn, "```")) if self.drawn else ""
        return "  \n".join(map(markdown_line, self.lines)) + drawn

    def plain(self) -> str:
        return "\n".join((*map(plain_line, self.lines), *self.drawn))


def hover_at(analysis: Analysis, offset: int) -> Hover | None:
    """What to show for the character at ``offset`` of the analysed text."""
    report = analysis.report
    if report is None:
        return None
    source = report.source
    rule = _rule_at(source, offset)
    if rule is not None:
        return rule
    word = _word_at(source, offset, _WORD)
    if word is None:
        return None
    function = _function(report, word)
    if function is not None:
        return function
    index = kernel_at(report, word) if _LAUNCH.match(source.text, word.end) is None else None
    if index is None:
        return _launched(report, word) or _stream(report, word)
    return _in_kernel(analysis, index, word)


def kernel_at(report: FileReport, span: Span) -> int | None:
    """Index of the kernel whose definition holds ``span``. A binary search: looking at a kernel works out its place."""
    index = bisect_right(report.facts, span.start, key=lambda facts: facts.kernel.span.start) - 1
    return index if index >= 0 and report.facts[index].kernel.span.covers(span) else None


def _function(report: FileReport, word: Span) -> Hover | None:
    """The contract of a device function, where it is defined or called."""
    name = report.source.slice(word)
    if _CALLED.match(report.source.text, word.end) is None:
        return None
    named = [facts for facts in report.functions if facts.kernel.name == name]
    if not named and not any(call.name == name for facts in report.facts for call in facts.kernel.inlined):
        return None
    found = [each for each in contracts((*report.facts, *named)) if each.name == name]
    here = report.source.line_number(word.start)
    shown = next((each for each in found if each.line == here), found[0] if len(found) == 1 else None)
    return None if shown is None else Hover(shown.lines, word)


def _launched(report: FileReport, word: Span) -> Hover | None:
    """The kernel that is launched at ``word``."""
    for index, facts in enumerate(report.facts):
        kernel = facts.kernel
        if kernel.name == report.source.slice(word) and any(s.span.covers(word) for s in kernel.launches):
            return _kernel(report.kernels[index], facts, word)
    return None


def _stream(report: FileReport, word: Span) -> Hover | None:
    """What happens in the stream that is named at ``word``."""
    if report.host is None or _is_member(report.source, word):
        return None
    found = stream_at(report.host, word)
    return None if found is None else Hover((found.head,), word, found.drawn)


def _kernel(report: KernelReport, facts: KernelFacts, word: Span) -> Hover:
    return Hover(tuple(kernel_lines(report, facts)), word, tuple(kernel_stairs(facts)))


def _in_kernel(analysis: Analysis, index: int, word: Span) -> Hover | None:
    assert analysis.report is not None
    source, facts = analysis.report.source, analysis.report.facts[index]
    report, kernel = analysis.report.kernels[index], facts.kernel
    if word == kernel.name_span:
        return _kernel(report, facts, word)
    for node in walk(kernel.body):
        if isinstance(node, Barrier) and node.span is not None and facts.span(node.span).covers(word):
            return Hover(_barrier_lines(report, node), facts.span(node.span))
    written = source.slice(word)
    buffer, name = buffer_at(kernel, written, word), _reference_named(kernel, written, word)
    if _is_comment(source, kernel.span, word) or _is_member(source, word):
        return None
    scope = None if name is None else name.scope
    if name is not None and (buffer is None or (scope is not None and buffer.site.scope.covers(scope))):
        return Hover(tuple(reference_lines(report, facts, name)), word)
    if buffer is None:
        return None
    return Hover(tuple(buffer_lines(analysis, report, facts, buffer)), word)


def buffer_at(kernel: Kernel, name: str, word: Span) -> Buffer | None:
    """The buffer that ``name`` means at ``word``: of several, the one in the innermost scope."""
    span = kernel.places.span
    known = [
        (scope.end - scope.start, number, buffer)
        for number, buffer in enumerate(kernel.buffers)
        if buffer.name == name
        and ((scope := span(buffer.site.scope)).covers(word) or span(buffer.declared).covers(word))
    ]
    return min(known)[2] if known else None


def _reference_named(kernel: Kernel, written: str, word: Span) -> BufferAlias | None:
    """The reference to a part of a buffer that ``written`` means at ``word``."""
    known = [
        (scope.end - scope.start, number, each)
        for number, each in enumerate(kernel.names)
        if each.text == written
        and each.scope is not None
        and (scope := kernel.places.span(each.scope)).covers(word)
    ]
    return min(known)[2] if known else None


def _is_comment(source: SourceText, kernel: Span, word: Span) -> bool:
    text = source.slice(kernel)
    return any(
        comment.covers(Span(word.start - kernel.start, word.end - kernel.start)) for comment in comments(text)
    )


def _is_member(source: SourceText, word: Span) -> bool:
    return _MEMBER.search(source.text, max(0, word.start - 16), word.start) is not None


def _barrier_lines(report: KernelReport, barrier: Barrier) -> tuple[str, ...]:
    row = next(
        (
            row
            for row in report.barriers
            if row.line == report.kernel.places.line(barrier.line) and row.kind == barrier.kind
        ),
        None,
    )
    head = f"**`{barrier.spelling.rstrip(';')}`**"
    if barrier.kind is not BarrierKind.BLOCK:
        return (f"{head} synchronises a part of the block: it never separates the accesses of all threads",)
    if row is not None and row.uniform == "proved":
        return (f"{head} is proved to be run by every thread of the block that has not exited",)
    return (
        f"{head} is not proved to be run by every thread of the block: no layout counts on it",
        "`// smem: uniform(condition)` states that all threads of a block decide alike",
    )


def _rule_at(source: SourceText, offset: int) -> Hover | None:
    """The rule whose code or name stands in a suppression comment under the cursor."""
    start, end = source.line_start(offset), source.line_end(offset)
    for directive in _DIRECTIVE.finditer(source.text, start, end):
        if not directive.start() <= offset <= directive.end():
            continue
        word = _word_at(source, offset, _RULE)
        if word is None or word.start < source.text.index("[", directive.start()):
            return None
        written = source.slice(word)
        rule = find_rule(written)
        if rule is not None:
            return Hover((f"**{rule.code}** `{rule.name}` ({rule.default})", f"{rule.summary}."), word)
    return None


def _word_at(source: SourceText, offset: int, pattern: re.Pattern[str]) -> Span | None:
    """The word around ``offset``, also when the cursor stands right behind it."""
    start, end = source.line_start(offset), source.line_end(offset)
    for word in pattern.finditer(source.text, start, end):
        if word.start() <= offset <= word.end():
            return Span(*word.span())
    return None
