"""Findings with the source they are about, as rustc shows them.

::

    warning[SMEM301]: `Cs` can reuse `As` (dead after the barrier at 38): 12,288 → 8,192 B
      --> kernels/gemm.cu:25:20
       |
    25 |   __shared__ float Cs[BM][BN];
       |                    ^^
       |
    13 |   __shared__ float As[BM][BK];
       |                    -- `As` is dead after line 38
       |
       = fix: Put `Cs` in the bytes of `As`
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from smem_lsp.engine.report import FileReport
from smem_lsp.fixes.model import Fix, Safety
from smem_lsp.output.style import PLAIN, Style, shown, width
from smem_lsp.rules.model import Finding
from smem_lsp.source import SourceText, Span, printable
from smem_lsp.source.record import dataclass

_SAFETY_NOTES = {Safety.SAFE: "", Safety.UNSAFE: " (unsafe)", Safety.DISPLAY: " (by hand)"}

_LONGEST_LINE = 400  # characters; of a longer one a part is shown
_BEFORE, _AFTER = 60, 160  # characters shown before and after the start of the span


@dataclass(frozen=True, slots=True)
class _Page:
    """What the lines of one finding have in common."""

    source: SourceText
    style: Style
    gutter: int  # columns of the line numbers

    def margin(self, text: str, sign: str) -> str:
        return self.style.frame(f"{text:>{self.gutter}} {sign}")


def render(report: FileReport, style: Style = PLAIN) -> str:
    """All findings in source order, each followed by an empty line."""
    return "".join(_finding(report, finding, style) for finding in report.findings)


def _finding(report: FileReport, finding: Finding, style: Style) -> str:
    source = report.source
    places = [(source, finding.span), *((note.source or source, note.span) for note in finding.related)]
    page = _Page(source, style, len(str(max(file.line_number(span.start) for file, span in places))))
    bar = page.margin("", "|")

    head = style.severity(finding.severity, f"{finding.severity.label}[{finding.code}]")
    line, column = source.lines.position(finding.span.start)
    arrow = style.frame(f"{'':{page.gutter}}-->")
    place = f"{printable(source.path)}:{line + 1}:{column + 1}"
    out = [f"{head}{style.bold(f': {printable(finding.message)}')}", f"{arrow} {place}", bar]
    carets = style.severity(finding.severity, "^" * _columns(source, finding.span))
    out += _snippet(page, finding.span, carets, "")
    for note in finding.related:
        file = note.source or source
        if file is not page.source:
            line, column = file.lines.position(note.span.start)
            away = style.frame(f"{'':{page.gutter}}:::")
            out += [bar, f"{away} {printable(file.path)}:{line + 1}:{column + 1}"]
            page = replace(page, source=file)
        dashes = style.frame("-" * _columns(file, note.span))
        out += [bar, *_snippet(page, note.span, dashes, printable(note.message))]
    if fixes := report.fixes_for(finding):
        out += [bar, *(_fix_line(page, fix) for fix in fixes)]
    return "\n".join(out) + "\n\n"


def _snippet(page: _Page, span: Span, marks: str, label: str) -> Iterator[str]:
    """The first line of ``span``, ``marks`` under it, and where the span ends if that is another line."""
    source = page.source
    start, end = source.line_start(span.start), source.line_end(span.start)
    before, after = "", ""
    if end - start > _LONGEST_LINE:
        before, after = (
            ("…" if start < span.start - _BEFORE else ""),
            ("…" if end > span.start + _AFTER else ""),
        )
        start, end = max(start, span.start - _BEFORE), min(end, span.start + _AFTER)
    first, last = source.line_number(span.start), source.line_number(max(span.start, span.end - 1))
    more = f"... to line {last}" if last > first else ""
    indent = " " * width(before + source.text[start : span.start])
    yield f"{page.margin(str(first), '|')} {shown(before + source.text[start:end] + after)}".rstrip()
    yield " ".join(part for part in (page.margin("", "|"), indent + marks, more, label) if part)


def _columns(source: SourceText, span: Span) -> int:
    """Columns of the part of ``span`` on its first line, at least one."""
    end = min(span.end, source.line_end(span.start), span.start + _AFTER)
    return max(1, width(source.text[span.start : end]))


def _fix_line(page: _Page, fix: Fix) -> str:
    return (
        f"{page.margin('', '=')} {page.style.bold('fix:')} {printable(fix.title)}{_SAFETY_NOTES[fix.safety]}"
    )
