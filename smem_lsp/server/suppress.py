"""The comment that silences one finding."""

from __future__ import annotations

import re

from smem_lsp.rules.model import Finding
from smem_lsp.source import SourceText, Span, TextEdit
from smem_lsp.source.regex import regex
from smem_lsp.syntax.lexer import comments

# These rules are about the comments themselves: silencing one with another comment helps nobody.
ABOUT_COMMENTS = frozenset({"SMEM002", "SMEM003"})

_HERE = regex(r"//[ \t]*smem:[ \t]*ignore[ \t]*\[([^\]\r\n]*)\]")
_ABOVE = regex(r"[ \t]*//[ \t]*smem:[ \t]*ignore-next-line[ \t]*\[([^\]\r\n]*)\]")


def suppression(source: SourceText, finding: Finding) -> TextEdit | None:
    """The edit that silences the finding: it adds the code to the directive that is there, else a directive on a new
    line above with the same indent. None where no comment can stand."""
    if finding.code in ABOUT_COMMENTS:
        return None
    start = source.line_start(finding.span.start)
    here = _HERE.search(source.text, start, source.line_end(start))
    if here is not None:
        return _joined(here, finding.code)
    if start > 0:
        above = source.line_start(start - 1)
        line = source.text[above : source.line_end(above)]
        found = _ABOVE.match(source.text, above, source.line_end(above))
        if found is not None:
            return _joined(found, finding.code)
        if line.endswith("\\"):
            return None  # a comment would end the macro
    if any(comment.start < start < comment.end for comment in comments(source.text)):
        return None  # the line begins inside a comment
    text = source.text[start : source.line_end(start)]
    indent = text[: len(text) - len(text.lstrip(" \t"))]
    return TextEdit(Span(start, start), f"{indent}// smem: ignore-next-line[{finding.code}]{source.newline}")


def _joined(directive: re.Match[str], code: str) -> TextEdit:
    end = directive.end(1)
    return TextEdit(Span(end, end), f", {code}" if directive[1].strip() else code)
