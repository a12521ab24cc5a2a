"""One line per finding, for editors and grep: ``path:line:column: severity CODE message``."""

from __future__ import annotations

from smem_lsp.engine.report import FileReport
from smem_lsp.output.style import PLAIN, Style
from smem_lsp.rules.model import Finding
from smem_lsp.source import printable, printable_path


def render(report: FileReport, style: Style = PLAIN) -> str:
    """All findings in source order, each on a line with its line end."""
    return "".join(_line(report, finding, style) for finding in report.findings)


def _line(report: FileReport, finding: Finding, style: Style) -> str:
    line, column = report.source.lines.position(finding.span.start)
    place = f"{printable_path(report.source.path)}:{line + 1}:{column + 1}:"
    severity = style.severity(finding.severity, finding.severity.label)
    message = printable(" ".join(finding.message.split()))
    return f"{place} {severity} {finding.code} {message}\n"
