"""Rewriting ``__shared__`` declarations: how a buffer is spelled as a reference, and edits on its declarators."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from smem_lsp.ir.nodes import Buffer, Kernel
from smem_lsp.ir.places import At
from smem_lsp.rules.cause_words import told
from smem_lsp.source import SourceText, Span, TextEdit, checkpoint
from smem_lsp.source.regex import regex
from smem_lsp.syntax.lexer import comments

MOST_COLUMNS = 120  # characters of a line that a fix writes
_BREAKS = regex(r" = |, (?=\")")  # a line that ends in one of these goes on in the next


class Refused(Exception):
    """A rewrite that is not offered; the message is one sentence for the user."""


def require_editable(kernel: Kernel, source: SourceText, buffer: Buffer) -> None:
    """Raises Refused when the declaration of ``buffer`` cannot be rewritten where it stands."""
    site = buffer.site
    line = source.line_number(kernel.places.start(buffer.declared))
    if site.statement is None or site.declarator is None or buffer.written.type is None:
        raise Refused(f"the declaration of `{buffer.name}` (line {line}) comes from a macro")
    if any(site.statement.low in region for region in kernel.conditional):
        raise Refused(f"`{buffer.name}` (line {line}) is declared in an #if branch")
    if site.in_switch:
        raise Refused(f"`{buffer.name}` (line {line}) is declared in a switch body")


def require_reference(kernel: Kernel, source: SourceText, buffer: Buffer) -> None:
    """Raises Refused when ``buffer`` must not become a reference: a lambda would copy what it refers to or not see
    it, ``decltype`` would be another type."""
    if buffer.index in kernel.unreferable:
        why = told(kernel, kernel.unreferable[buffer.index])
        raise Refused(f"`{buffer.name}` {why}: no reference can stand for it there")
    type_of = rf"\b(?:decltype|typeof|__typeof__)\s*\(\s*\(?\s*{re.escape(buffer.name)}\b"
    if re.search(type_of, source.slice(kernel.span)):
        raise Refused(f"`{buffer.name}` stands in a decltype, which would become a reference type")


def statement_of(kernel: Kernel, buffer: Buffer) -> Span:
    """The text that declares it."""
    assert buffer.site.statement is not None
    return kernel.places.span(buffer.site.statement)


def declared_with(kernel: Kernel, buffer: Buffer) -> list[Buffer]:
    """All that the statement that declares ``buffer`` declares, in order: they follow each other in the kernel."""
    statement, buffers = buffer.site.statement, kernel.buffers
    first = last = buffer.index
    while first > 0 and buffers[first - 1].site.statement == statement:
        first -= 1
    while last + 1 < len(buffers) and buffers[last + 1].site.statement == statement:
        last += 1
    return list(buffers[first : last + 1])


def by_statement(kernel: Kernel, buffers: Sequence[Buffer]) -> Iterator[tuple[list[Buffer], list[Buffer]]]:
    """Each statement that declares some of ``buffers``, in their order: all that it declares, and those of them."""
    declaring: dict[At | None, list[Buffer]] = {}
    for buffer in buffers:
        declaring.setdefault(buffer.site.statement, []).append(buffer)
    for here in declaring.values():
        checkpoint()
        yield declared_with(kernel, here[0]), here


def element_type(buffer: Buffer) -> str:
    """``volatile float`` or ``float*``: type of an element, qualifiers included."""
    return f"{buffer.written.type}{buffer.written.pointer}"


def aligned_as(buffer: Buffer) -> str:
    """``float``: what stands in ``alignas(...)`` for the type of its elements."""
    return element_type(buffer).replace("volatile ", "")


def _before(element: str, sign: str) -> str:
    """``float&``, ``long long&``, ``float* volatile &``."""
    qualified = "*" in element and element[-1] not in "*&"
    return f"{element} {sign}" if qualified else f"{element}{sign}"


def dims_text(buffer: Buffer) -> str:
    return "".join(f"[{dim}]" for dim in buffer.written.dims)


def reference_to(buffer: Buffer) -> str:
    """``float (&red)[256]`` or ``float& mx``."""
    if not buffer.dims:
        return f"{_before(element_type(buffer), '&')} {buffer.name}"
    return f"{element_type(buffer)} (&{buffer.name}){dims_text(buffer)}"


def pointer_type(buffer: Buffer) -> str:
    """``float (*)[256]`` or ``float*``: what to cast an address to."""
    if not buffer.dims:
        return _before(element_type(buffer), "*")
    return f"{element_type(buffer)} (*){dims_text(buffer)}"


def lent_to(lent: Buffer, host: Buffer) -> str:
    """In words: how a function would get the bytes of its array from its caller."""
    parameter, argument = reference_to(lent), f"*reinterpret_cast<{pointer_type(lent)}>(&{host.name})"
    return (
        f"Give {lent.function}() a parameter `{parameter}` in the place of its array, "
        f"and pass `{argument}` in each call"
    )


def member_of(buffer: Buffer) -> str:
    """``float As[BM][BK];`` as a member of a struct, alignment attributes kept."""
    attributes = "".join(f"{text} " for text in buffer.written.attributes)
    return f"{attributes}{element_type(buffer)} {buffer.name}{dims_text(buffer)};"


def same_type(a: Buffer, b: Buffer) -> bool:
    return element_type(a) == element_type(b) and a.written.dims == b.written.dims and a.dims == b.dims


def indentation(source: SourceText, offset: int) -> str:
    """White space in front of the first character of the line that holds ``offset``."""
    start = source.line_start(offset)
    end = start
    while end < len(source.text) and source.text[end] in " \t\f\v":
        end += 1
    return source.text[start:end]


def rest_of_line(source: SourceText, span: Span) -> str:
    """The text after a statement on its last line."""
    return source.text[span.end : source.line_end(span.end)]


def alone_on_its_line(source: SourceText, span: Span) -> bool:
    """Nothing but white space before a statement, nothing but a comment after it, all on one line."""
    if source.line_start(span.start) != source.line_start(max(span.start, span.end - 1)):
        return False
    before = source.text[source.line_start(span.start) : span.start]
    after = rest_of_line(source, span).strip()
    return not before.strip() and (not after or after.startswith("//") or _one_comment(after))


def _one_comment(text: str) -> bool:
    return text.startswith("/*") and text.find("*/") == len(text) - 2


def next_line_start(source: SourceText, offset: int) -> int:
    """Offset of the line after the one that holds ``offset``; the end of the text when it is the last."""
    line = source.lines.line_of(offset)
    starts = source.lines.starts
    return starts[line + 1] if line + 1 < len(starts) else len(source.text)


def replace_declarators(
    kernel: Kernel, source: SourceText, group: Sequence[Buffer], gone: Collection[int], lines: Sequence[str]
) -> list[TextEdit]:
    """Take the declarators ``gone`` out of one declaration statement and put ``lines`` in their place.

    ``group``: all buffers of the statement, in order. When nothing is left of it, ``lines`` replace the statement;
    else they follow on lines of their own. Comments that stood in what is taken out go with the first line.
    """
    statement = statement_of(kernel, group[0])
    indent = indentation(source, statement.start)
    kept = [buffer for buffer in group if buffer.index not in gone]
    if not kept:
        if not lines:
            return [remove_statement(source, statement)]
        return _replace_statement(
            source, statement, indent, [with_comments(source, [statement], lines[0]), *lines[1:]]
        )
    cuts = _declarator_cuts(kernel, group, gone)
    edits = [TextEdit(span, "") for span in cuts]
    if lines:
        lines = [with_comments(source, cuts, lines[0]), *lines[1:]]
        edits.append(_lines_after(source, statement, indent, lines))
    return edits


def with_comments(source: SourceText, taken: Sequence[Span], line: str) -> str:
    """``line`` with the comments that stand in the text ``taken`` out, in front of a comment of its own."""
    code, mark, ours = line.partition("  //")
    for span in taken:
        checkpoint()
        text = source.slice(span)
        for comment in comments(text):
            words = text[comment.start : comment.end]
            code += f" /* {words[2:].strip()} */" if words.startswith("//") else f" {words}"
    return f"{code}{mark}{ours}"


def fitted(source: SourceText, indent: str, line: str) -> str:
    """A statement and its comment, the comment above it where they are too long for one line, and the statement on two
    where it is: to stand behind ``indent``."""
    room = MOST_COLUMNS - len(indent.expandtabs(4))
    code, mark, comment = line.partition("  //")
    above = ""
    if mark and len(line) > room:
        above, line = f"//{comment}{source.newline}{indent}", code
    place = _BREAKS.search(line) if len(line) > room else None
    if place is not None:
        line = f"{line[: place.end()].rstrip()}{source.newline}{indent}    {line[place.end() :]}"
    return above + line


def _replace_statement(
    source: SourceText, statement: Span, indent: str, lines: Sequence[str]
) -> list[TextEdit]:
    """The first line takes the statement's place; the others follow, after a comment that stands behind it."""
    first, others = lines[0], list(lines[1:])
    trailing = rest_of_line(source, statement).strip()
    if trailing and "  //" in first:  # the author's comment keeps its place: ours goes above
        code, _, comment = first.partition("  //")
        first = f"//{comment}{source.newline}{indent}{fitted(source, indent, code)}"
    else:
        first = fitted(source, indent, first)
    edits = [TextEdit(statement, first)]
    if others:
        edits.append(_lines_after(source, statement, indent, others))
    return edits


def _lines_after(source: SourceText, statement: Span, indent: str, lines: Sequence[str]) -> TextEdit:
    trailing = rest_of_line(source, statement).strip()
    if trailing and not trailing.startswith("//") and not _one_comment(trailing):
        inline = " ".join(
            line.partition("  //")[0] for line in lines
        )  # more code on the line: stay in front of it
        return TextEdit(Span(statement.end, statement.end), f" {inline}")
    at = source.line_end(statement.end)
    return TextEdit(
        Span(at, at), "".join(f"{source.newline}{indent}{fitted(source, indent, line)}" for line in lines)
    )


def _declarator_cuts(kernel: Kernel, group: Sequence[Buffer], gone: Collection[int]) -> list[Span]:
    """What to delete so that the remaining declarators keep their text and one comma between them."""
    places = (buffer.site.declarator for buffer in group)
    spans = [None if each is None else kernel.places.span(each) for each in places]
    cuts: list[Span] = []
    kept_before = False
    for i, buffer in enumerate(group):
        span = spans[i]
        assert span is not None
        if buffer.index not in gone:
            kept_before = True
            continue
        previous, following = (spans[i - 1] if i else None), (spans[i + 1] if i + 1 < len(spans) else None)
        if kept_before and previous is not None:
            cuts.append(Span(previous.end, span.end))
        elif following is not None:
            cuts.append(Span(span.start, following.start))
    return cuts


def remove_statement(source: SourceText, statement: Span) -> TextEdit:
    """Delete a statement, with its line when nothing else stands there; a comment behind it stays."""
    before = source.text[source.line_start(statement.start) : statement.start]
    if not before.strip() and not rest_of_line(source, statement).strip():
        return remove_lines(
            source, source.line_start(statement.start), next_line_start(source, statement.end)
        )
    return TextEdit(statement, "")


def remove_lines(source: SourceText, start: int, end: int) -> TextEdit:
    """Delete whole lines: of the two blank lines that would then follow each other, one goes with them."""
    above = source.text[source.line_start(start - 1) if start else 0 : start]
    following = next_line_start(source, end)
    if start and not above.strip() and end < following and not source.text[end:following].strip():
        end = following
    return TextEdit(Span(start, end), "")
