"""The page of a rule as JSON: ``smem-lsp explain --format json``, and ``smem/explain`` of the server."""

from __future__ import annotations

from smem_lsp.rules.model import Rule


def rule_page(rule: Rule) -> dict[str, object]:
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity.label,
        "summary": rule.summary,
        "explanation": rule.doc.strip(),
    }
