"""A rule as JSON: ``smem-lsp rules`` and ``explain`` with ``--format json``, and ``smem/explain`` of the server."""

from __future__ import annotations

from smem_lsp.rules.model import Rule


def rule_row(rule: Rule) -> dict[str, object]:
    """``severity``: the highest that it reports."""
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity.label,
        "on_by_default": not rule.optional,
        "summary": rule.summary,
    }


def rule_page(rule: Rule) -> dict[str, object]:
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity.label,
        "summary": rule.summary,
        "explanation": rule.doc.strip(),
    }
