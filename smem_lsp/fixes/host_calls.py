"""Changes of host code: calls inserted before statements, and arguments replaced."""

from __future__ import annotations

from smem_lsp.fixes.declarations import indentation
from smem_lsp.fixes.model import Fix, Safety, Title
from smem_lsp.rules.model import ChangeHost, HostCall
from smem_lsp.source import SourceText, Span, TextEdit
from smem_lsp.syntax.lexer import comments


def change_host(remedy: ChangeHost, source: SourceText) -> Fix:
    """The fix that a remedy asks for. Waiting for more, releasing what is not used any longer, and freeing in the
    stream of the last use change no result."""
    edits = [edit for call in remedy.calls for edit in _inserted(call, source)]
    edits += [TextEdit(span, text) for span, text in remedy.arguments]
    return Fix(Title(remedy.title), Safety.SAFE, tuple(edits))


def _inserted(call: HostCall, source: SourceText) -> list[TextEdit]:
    at = call.statement.start
    start = source.line_start(at)
    indent = indentation(source, at)
    first = not source.text[start:at].strip()  # on its line

    def lines(inner: str) -> str:
        return "".join(f"{inner}{line}{source.newline}" for line in call.call.split("\n"))

    if call.alone and first:
        inner = indent + _step(source, at) if call.closes else indent
        return [TextEdit(Span(start, start), lines(inner))]
    if call.alone:
        return [TextEdit(Span(at, at), " ".join(call.call.split("\n")) + " ")]
    end = _after(source.text, call.statement.end)
    head = source.text[:start].rstrip()
    noted = any(comment.end >= len(head) for comment in comments(source.text[:start]))
    if first and not noted:  # below its condition, on a line of its own
        outer = indent.removesuffix(_step(source, at))
        return [
            TextEdit(Span(len(head), len(head)), " {"),
            TextEdit(Span(start, start), lines(indent)),
            TextEdit(Span(end, end), f"{source.newline}{outer}}}"),
        ]
    inner = indent + _step(source, at)
    return [
        TextEdit(Span(at, at), f"{{{source.newline}{lines(inner)}{inner}"),
        TextEdit(Span(end, end), f"{source.newline}{indent}}}"),
    ]


def _after(text: str, end: int) -> int:
    """Behind the semicolon of a statement that ends at ``end``."""
    at = end
    while at < len(text) and text[at].isspace():
        at += 1
    return at + 1 if text[at : at + 1] == ";" and text[end - 1 : end] != ";" else end


def _step(source: SourceText, at: int) -> str:
    """By what one level is indented, as the nearest line above that is indented deeper or less shows."""
    own = indentation(source, at)
    for number in range(source.lines.line_of(at) - 1, -1, -1):
        other = indentation(source, source.lines.starts[number])
        line = source.text[source.lines.starts[number] : source.line_end(source.lines.starts[number])]
        if not line.strip() or other == own:
            continue
        if other.startswith(own):
            return other[len(own) :]
        if own.startswith(other):
            return own[len(other) :]
    return "  "
