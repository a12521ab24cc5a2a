"""Annotations for GitHub Actions: a workflow command per finding, shown beside the line in a pull request."""

from __future__ import annotations

from smem_lsp.engine.report import FileReport
from smem_lsp.rules.model import Finding, Severity
from smem_lsp.source import printable

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning"}


def render(report: FileReport) -> str:
    """All findings in source order, each on a line with its line end."""
    return "".join(_command(report, finding) for finding in report.findings)


def unchecked(path: str, words: str) -> str:
    """Of a file that could not be checked."""
    return f"::error title=smem-lsp,file={_escaped(path, ':,')}::not checked: {_escaped(words)}\n"


def _command(report: FileReport, finding: Finding) -> str:
    source, span = report.source, finding.span
    first, column = source.lines.position(span.start)
    last, end = source.lines.position(span.end)
    properties = {"title": finding.code, "file": source.path, "line": first + 1, "endLine": last + 1}
    if first == last:  # columns are for one line only
        properties |= {"col": column + 1, "endColumn": end + 1}
    written = ",".join(f"{name}={_escaped(str(value), ':,')}" for name, value in properties.items())
    return f"::{_COMMANDS.get(finding.severity, 'notice')} {written}::{_escaped(finding.message)}\n"


def _escaped(text: str, more: str = "") -> str:
    for sign in "%\r\n" + more:  # the percent sign first
        text = text.replace(sign, f"%{ord(sign):02X}")
    return printable(text)
