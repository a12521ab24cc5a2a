"""Findings as diagnostics."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence

from lsprotocol import types

from smem_lsp.rules.model import Finding, Note
from smem_lsp.server.analysis import Analysis
from smem_lsp.server.handshake import Features
from smem_lsp.server.positions import ClientText, client_text
from smem_lsp.server.to_lsp import to_range
from smem_lsp.server.uris import uri_of
from smem_lsp.source import Span, printable, printable_path

SOURCE = "smem"
MOST = 200  # of one file: editors take longer to draw a thousand than we take to find them

RULE_URL: str | None = None
"""URL of a rule's page, with ``{code}`` for its code. None: the pages are not published yet."""


def diagnostics_of(
    analysis: Analysis, findings: Sequence[Finding], features: Features
) -> list[types.Diagnostic]:
    """Findings in the text of an analysis, at most ``MOST``, the gravest ones; a last diagnostic counts those left
    out."""
    if analysis.report is None:
        return []
    seen = client_text(analysis.report.source, features.encoding)
    shown = _gravest(findings)
    diagnostics = [_diagnostic(analysis, seen, finding, features) for finding in shown]
    if len(shown) < len(findings):
        left_out = len(findings) - len(shown)
        message = f"{left_out:,} more findings in this file are not shown"
        start = to_range(seen, Span(0, 0))
        diagnostics.append(
            types.Diagnostic(start, message, types.DiagnosticSeverity.Information, source=SOURCE)
        )
    return diagnostics


def result_id(diagnostics: Sequence[types.Diagnostic]) -> str:
    """Equal for diagnostics that look alike to the client."""
    return hashlib.blake2b(repr(diagnostics).encode("utf-8", "replace"), digest_size=12).hexdigest()


def finding_id(finding: Finding) -> str:
    """Names a finding within one text."""
    return f"{finding.code}:{finding.span.start}:{finding.span.end}"


def _location(analysis: Analysis, seen: ClientText, note: Note, features: Features) -> types.Location:
    if note.source is None:
        return types.Location(analysis.snapshot.uri, to_range(seen, note.span))
    there = client_text(note.source, features.encoding)
    return types.Location(uri_of(os.path.abspath(note.source.path)), to_range(there, note.span))  # noqa: PTH100


def _place(seen: ClientText, note: Note) -> str:
    if note.source is None:
        return f"line {seen.place(note.span.start)[0] + 1}"
    return f"{printable_path(note.source.path)}:{note.source.line_number(note.span.start)}"


def _gravest(findings: Sequence[Finding]) -> Sequence[Finding]:
    if len(findings) <= MOST:
        return findings
    ranked = sorted(range(len(findings)), key=lambda at: (findings[at].severity, at))
    return [findings[at] for at in sorted(ranked[:MOST])]


def _diagnostic(
    analysis: Analysis, seen: ClientText, finding: Finding, features: Features
) -> types.Diagnostic:
    message = printable(finding.message)
    related: list[types.DiagnosticRelatedInformation] | None = None
    if finding.related and features.related_information:
        related = [
            types.DiagnosticRelatedInformation(
                _location(analysis, seen, note, features), printable(note.message)
            )
            for note in finding.related
        ]
    else:
        message += "".join(f"\n{_place(seen, note)}: {printable(note.message)}" for note in finding.related)
    faded = finding.unnecessary and features.unnecessary_tag
    return types.Diagnostic(
        range=to_range(seen, finding.span),
        message=message,
        severity=types.DiagnosticSeverity(finding.severity),
        code=finding.code,
        code_description=types.CodeDescription(RULE_URL.format(code=finding.code)) if RULE_URL else None,
        source=SOURCE,
        tags=[types.DiagnosticTag.Unnecessary] if faded else None,
        related_information=related,
        data={"finding": finding_id(finding), "fixable": finding.remedy is not None},
    )
